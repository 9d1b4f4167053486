// Every property of a session's configuration, as a person sets and reads it.

import { area, field, group, input, Invalid, readHeaders, reading, select, valueOf, writeHeaders } from "./form.js";
import { parseSize, size } from "./format.js";

const policies = [
  ["useProtocolCachePolicy", "As HTTP says"], ["reloadIgnoringLocalCacheData", "Always from the server"],
  ["reloadIgnoringLocalAndRemoteCacheData", "Past all caches"], ["returnCacheDataElseLoad", "A copy, however old, else the server"],
  ["returnCacheDataDontLoad", "A copy or nothing"], ["reloadRevalidatingCacheData", "A copy once the server confirms it"],
];
const versions = ["1.0", "1.1", "1.2", "1.3"];
const none = "Changes nothing on a server; kept and shown.";

const number = (label, fallback, help, attributes = {}) => ({ label, kind: "number", fallback, help, attributes });
const flag = (label, fallback, help) => ({ label, kind: "flag", fallback, help });
const choice = (label, fallback, options, help) => ({ label, kind: "choice", fallback, options, help });

/** By group; the names are NSURLSessionConfiguration's. */
export const properties = {
  Time: {
    timeoutIntervalForRequest: number("Longest silence (s)", 60, "Then a transfer times out."),
    timeoutIntervalForResource: number("Longest life (s)", 604800, "From its first start; 604800 is a week."),
    waitsForConnectivity: flag("Wait for a network", false, "Instead of failing without a route."),
    isDiscretionary: flag("Put off to quiet times", false, "While nothing else is to be done."),
  },
  Connections: {
    httpMaximumConnectionsPerHost: number("Connections a host", 6, "Transfers to one host at a time. Background sessions: 4."),
    tlsMinimumSupportedProtocolVersion: choice("Oldest TLS", "1.2", versions, "1.0 and 1.1 are weak."),
    tlsMaximumSupportedProtocolVersion: choice("Newest TLS", "1.3", versions),
    connectionProxyDictionary: { label: "Proxy", kind: "proxy", fallback: null, help: "http://host:3128 for http and https, or socks5h://host:1080. Nothing: directly." },
  },
  Requests: {
    httpAdditionalHeaders: { label: "Headers of every request", kind: "headers", fallback: {}, help: "Name: value, one a line." },
    requestCachePolicy: choice("Cache policy", "useProtocolCachePolicy", policies),
    propagatesTraceContext: flag("Hand traces on", false, "Servers get the traceparent that a transfer was created with."),
    urlCache: { label: "Cache: memory and disk", kind: "cache", fallback: { memoryCapacity: 4194304, diskCapacity: 268435456 }, help: "Such as “4 MiB, 256 MiB”; 0 turns a tier off." },
  },
  "Cookies and credentials": {
    httpCookieAcceptPolicy: choice("Take cookies", "onlyFromMainDocumentDomain", [["onlyFromMainDocumentDomain", "Of the transfer's own site"], ["always", "Of all"], ["never", "Of none"]]),
    httpShouldSetCookies: flag("Send cookies", true),
    httpCookieStorage: choice("Cookie jar", "private", [["private", "Its own"], ["", "None"]]),
    urlCredentialStorage: choice("Credential storage", "private", [["private", "Its own"], ["", "None"]]),
  },
  "Without effect here": {
    httpShouldUsePipelining: flag("Pipelining", false, none), allowsCellularAccess: flag("Cellular access", true, none),
    allowsExpensiveNetworkAccess: flag("Expensive networks", true, none), allowsConstrainedNetworkAccess: flag("Constrained networks", true, none),
    multipathServiceType: choice("Multipath", "none", ["none", "handover", "interactive", "aggregate"], none),
    networkServiceType: choice("Service type", "default", ["default", "voip", "video", "background", "voice", "responsiveData", "avStreaming", "responsiveAV", "callSignaling"], none),
  },
};

const all = Object.assign({}, ...Object.values(properties));

/** How a value reads. */
export const shownValue = (name, value) => {
  const property = all[name];
  if (value === null) return "none";
  switch (property?.kind) {
    case "flag": return value ? "yes" : "no";
    case "choice": return property.options.find((option) => Array.isArray(option) && option[0] === value)?.[1] ?? value;
    case "headers": return writeHeaders(value) || "none";
    case "cache": return `${size(value.memoryCapacity)} of memory, ${size(value.diskCapacity)} of disk`;
    case "proxy": return Object.entries(value).map(([key, one]) => `${key} ${one}`).join(", ");
    default: return String(value);
  }
};

export const labelOf = (name) => all[name]?.label ?? name;
export const isDefault = (name, value) => JSON.stringify(all[name]?.fallback) === JSON.stringify(value);

const control = ({ kind, fallback, options, attributes }) => {
  switch (kind) {
    case "number": return input({ type: "number", min: 0, step: "any", placeholder: String(fallback), ...attributes });
    case "flag": return input({ type: "checkbox", checked: fallback });
    case "choice": return select(options, fallback ?? "");
    case "headers": return area({ rows: 2, placeholder: "User-Agent: mirror/1" });
    case "cache": return input({ placeholder: "4 MiB, 256 MiB" });
    default: return input({ placeholder: "directly" });
  }
};

/** Fields for all of them; `read()` gives what is not as it is anyway. */
export const configurationFields = () => {
  const controls = {};
  const groups = Object.entries(properties).map(([heading, members]) => group(heading, ...Object.entries(members).map(([name, property]) => {
    controls[name] = control(property);
    return field(property.label, controls[name], { pointer: `/configuration/${name}`, help: property.help, wide: property.kind === "headers" });
  })));
  return { groups, read: () => read(controls) };
};

const read = (controls) => {
  const configuration = {};
  for (const [name, { kind, fallback }] of Object.entries(all)) {
    const given = controls[name];
    if (kind === "flag") { if (given.checked !== fallback) configuration[name] = given.checked; continue; }
    const pointer = `/configuration/${name}`;
    const text = valueOf(given, pointer);
    if (kind === "choice") { if (text !== (fallback ?? "")) configuration[name] = text || null; continue; }
    if (!text) continue;
    if (kind === "number") configuration[name] = Number(text);
    else if (kind === "headers") configuration[name] = reading(pointer, () => readHeaders(text));
    else if (kind === "cache") configuration[name] = readCache(text);
    else configuration[name] = readProxy(text);
  }
  return configuration;
};

const readCache = (text) => {
  const [memoryCapacity, diskCapacity, ...more] = text.split(",").map((one) => parseSize(one));
  if (memoryCapacity == null || diskCapacity == null || more.length) throw new Invalid("/configuration/urlCache", "Write two sizes, such as “4 MiB, 256 MiB”.");
  return { memoryCapacity, diskCapacity };
};

const readProxy = (text) => {
  const match = /^(http|socks(?:4|5|5h)?):\/\/(\[[^\]]+\]|[^:/]+)(?::(\d+))?\/?$/i.exec(text);
  if (!match) throw new Invalid("/configuration/connectionProxyDictionary", "Write it like http://proxy.example.com:3128 or socks5h://host:1080.");
  const host = match[2].replace(/^\[|\]$/g, "");
  const scheme = match[1].toLowerCase();
  const port = match[3] ? Number(match[3]) : null;
  if (scheme.startsWith("socks")) {
    return { SOCKSEnable: true, SOCKSProxy: host, SOCKSPort: port ?? 1080, SOCKSVersion: scheme.slice(5) || "5h" };
  }
  return { HTTPEnable: true, HTTPProxy: host, HTTPPort: port ?? 3128, HTTPSEnable: true, HTTPSProxy: host, HTTPSPort: port ?? 3128 };
};
