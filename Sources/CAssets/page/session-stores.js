// What a session remembers: cookies, credentials and cached answers.

import { button, confirm, fill, h, iconButton, say } from "./dom.js";
import { call, get, post, remove } from "./api.js";
import { area, field, formDialog, input, Invalid, select } from "./form.js";
import { count, fullTime, size } from "./format.js";

const failing = async (work) => { try { await work(); } catch (error) { say(error.message, { tone: "bad" }); } };

const query = (members) => `?${new URLSearchParams(Object.entries(members).filter(([, value]) => value !== null && value !== undefined))}`;

// MARK: cookies

export const cookies = (session) => {
  const place = h("div");
  const path = `${session.links.self}/cookies`;
  const isOpen = session.state === "active" && session.configuration.httpCookieStorage;
  const load = async () => {
    const { cookies: list } = await get(path);
    const forget = (cookie) => failing(async () => { await remove(path + query({ domain: cookie.domain, path: cookie.path, name: cookie.name })); await load(); });
    place.replaceChildren(list.length === 0 ? h("p.quiet", session.configuration.httpCookieStorage ? "The jar is empty." : "The session has no jar.")
      : h("table.list.stack", h("thead", h("tr", ["Name", "Value", "For", "Until", ""].map((one) => h("th", one)))),
        h("tbody", list.map((cookie) => h("tr", h("td", h("strong", cookie.name)), h("td", cookie.value.length > 60 ? `${cookie.value.slice(0, 60)}…` : cookie.value),
          h("td", `${cookie.hostOnly ? "" : "*."}${cookie.domain}${cookie.path}`), h("td", cookie.expires ? fullTime(cookie.expires) : "the session ends"),
          h("td", isOpen && iconButton("trash", `Delete the cookie ${cookie.name} of ${cookie.domain}`, () => forget(cookie))))))),
    ...(isOpen ? [h("div.acts-line", button("", "add", "Add a cookie", { onclick: add }), button("", "up", "Import a file", { onclick: bring }),
      list.length > 0 && button("", "trash", "Delete all cookies", { onclick: empty }))] : []));
  };
  const add = () => {
    const name = input(), value = input(), domain = input({ placeholder: "example.com" }), secure = input({ type: "checkbox", checked: true });
    formDialog("Add a cookie", "Add", h("div.fields", field("Name", name, { pointer: "/name" }), field("Value", value, { pointer: "/value" }),
      field("Domain", domain, { pointer: "/domain", help: "And the hosts below it." }), field("For https only", secure)), async () => {
      await post(path, { name: name.value.trim(), value: value.value, domain: domain.value.trim(), hostOnly: false, secure: secure.checked });
      await load();
    });
  };
  const bring = () => {
    const text = area({ rows: 8, placeholder: "# Netscape HTTP Cookie File" });
    formDialog("Import cookies", "Import", h("div.fields", field("A file in Netscape's format, as curl and browsers export it", text, { wide: true, pointer: "/" })), async () => {
      const result = await call("POST", path, { bytes: text.value, headers: { "Content-Type": "text/plain" } });
      const [fault] = result.faults;
      say(`${count(result.stored, "cookie")} taken${fault ? `, ${count(result.faultCount, "line")} not; line ${fault.line}: ${fault.detail}` : ""}.`);
      await load();
    });
  };
  const empty = async () => { if (await confirm("Delete all cookies?", "The session is signed out wherever it was signed in.", "Delete")) failing(async () => { await remove(path); await load(); }); };
  fill(place, load);
  return place;
};

// MARK: credentials

const methods = [["HTTPBasic", "Basic"], ["HTTPDigest", "Digest"], ["NTLM", "NTLM"]].map(([key, label]) => [`NSURLAuthenticationMethod${key}`, label]);

export const credentials = (session) => {
  const place = h("div");
  const path = `${session.links.self}/credentials`;
  const isOpen = session.state === "active" && session.configuration.urlCredentialStorage;
  const load = async () => {
    const { credentials: list } = await get(path);
    const forget = ({ protectionSpace: space, user }) => failing(async () => {
      await remove(path + query({ host: space.host, port: space.port, protocol: space.protocol, realm: space.realm, authenticationMethod: space.authenticationMethod, isProxy: space.isProxy, user }));
      await load();
    });
    place.replaceChildren(list.length === 0 ? h("p.quiet", session.configuration.urlCredentialStorage ? "None is stored." : "The session has no storage for credentials.")
      : h("table.list.stack", h("thead", h("tr", ["User", "For", "How", "Kept", ""].map((one) => h("th", one)))),
        h("tbody", list.map((one) => h("tr", h("td", h("strong", one.user ?? "a certificate")),
          h("td", `${one.protectionSpace.protocol}://${one.protectionSpace.host}:${one.protectionSpace.port}${one.protectionSpace.realm ? ` “${one.protectionSpace.realm}”` : ""}${one.protectionSpace.isProxy ? ", a proxy" : ""}`),
          h("td", one.protectionSpace.authenticationMethod.replace("NSURLAuthenticationMethod", "")), h("td", one.persistence === "permanent" ? "on disk" : "until the gateway stops"),
          h("td", isOpen && iconButton("trash", `Forget ${one.user ?? "the certificate"} for ${one.protectionSpace.host}`, () => forget(one))))))),
    ...(isOpen ? [h("div.acts-line", button("", "add", "Store a password", { onclick: add }))] : []));
  };
  const add = () => {
    const site = input({ placeholder: "https://example.com" }), realm = input(), user = input({ autocapitalize: "none" });
    const password = input({ type: "password", autocomplete: "new-password" });
    const method = select(methods), keep = select([["forSession", "Until the gateway stops"], ...(session.type === "ephemeral" ? [] : [["permanent", "On disk, sealed"]])]);
    formDialog("Store a password", "Store", h("div.fields", field("Site", site, { pointer: "/protectionSpace/host" }), field("Realm", realm, { pointer: "/protectionSpace/realm", help: "As the server names it." }),
      field("User", user, { pointer: "/user" }), field("Password", password, { pointer: "/password" }), field("How", method, { pointer: "/protectionSpace/authenticationMethod" }), field("Keep it", keep, { pointer: "/persistence" })), async () => {
      let url;
      try { url = new URL(/^https?:/.test(site.value) ? site.value.trim() : `https://${site.value.trim()}`); } catch { throw new Invalid("/protectionSpace/host", "Write it like https://example.com."); }
      const protocol = url.protocol.slice(0, -1);
      await call("PUT", path, { body: { protectionSpace: { host: url.hostname, protocol, realm: realm.value || null, authenticationMethod: method.value,
        ...(url.port ? { port: Number(url.port) } : {}) }, user: user.value, password: password.value, persistence: keep.value } });
      await load();
    });
  };
  fill(place, load);
  return place;
};

// MARK: cache

export const cache = (session) => {
  const place = h("div");
  const path = `${session.links.self}/cache`;
  const tier = (label, used, whole) => {
    const fill = h("i");
    fill.style.transform = `scaleX(${whole ? Math.min(1, used / whole) : 0})`;
    return h("div", h("p", `${label}: ${whole ? `${size(used)} of ${size(whole)}` : "off"}`), h("div.meter", fill));
  };
  const load = async () => {
    const usage = await get(path);
    place.replaceChildren(h("div.fields", tier("Memory", usage.memoryUsage, usage.memoryCapacity), tier("Disk", usage.diskUsage, usage.diskCapacity)),
      h("div.acts-line", h("span.quiet", count(usage.entryCount, "answer")), usage.entryCount > 0 && session.state === "active" && button("", "trash", "Empty the cache", { onclick: () => failing(async () => { await remove(path); await load(); }) })));
  };
  fill(place, load);
  return place;
};
