// Where the time of a transfer went, one group of bars for each exchange with a server.

import { h } from "./dom.js";
import { size, span } from "./format.js";

const phases = [
  ["dns", "Name look-up", "domainLookupStartDate", "domainLookupEndDate"],
  ["connect", "Connect", "connectStartDate", "connectEndDate"],
  ["tls", "TLS", "secureConnectionStartDate", "secureConnectionEndDate"],
  ["request", "Request", "requestStartDate", "requestEndDate"],
  ["wait", "First byte", "requestEndDate", "responseStartDate"],
  ["body", "Body", "responseStartDate", "responseEndDate"],
];

const time = (transaction, name) => {
  // TCP ends where TLS begins.
  if (name === "connectEndDate" && transaction.secureConnectionStartDate) return Date.parse(transaction.secureConnectionStartDate);
  return transaction[name] ? Date.parse(transaction[name]) : null;
};

const spanOf = (transaction) => phases.map(([key, label, from, to]) => ({
  key, label, from: time(transaction, from), to: time(transaction, to),
})).filter((phase) => phase.from !== null && phase.to !== null && phase.to >= phase.from);

const facts = (transaction) => [
  transaction.networkProtocolName?.replace("h2", "HTTP/2").replace("http/", "HTTP/"),
  transaction.resourceFetchType === "localCache" && "from the cache",
  transaction.isReusedConnection && "connection used again",
  transaction.isProxyConnection && "through a proxy",
  transaction.remoteAddress && `${transaction.remoteAddress}:${transaction.remotePort}`,
  transaction.countOfResponseBodyBytesReceived > 0 && `${size(transaction.countOfResponseBodyBytesReceived)} received`,
  transaction.countOfRequestBodyBytesSent > 0 && `${size(transaction.countOfRequestBodyBytesSent)} sent`,
].filter(Boolean).join(" · ");

const bar = (phase, begin, whole) => {
  const fill = h(`i.${phase.key}`);
  fill.style.marginInlineStart = `${((phase.from - begin) / whole) * 100}%`;
  fill.style.inlineSize = `${Math.max(0.4, ((phase.to - phase.from) / whole) * 100)}%`;
  return [h("dt", phase.label), h("dd", h("div.lane", fill), h("span", span(phase.to - phase.from)))];
};

/** The exchanges of a task under each other, on one scale. */
export const waterfall = (metrics) => {
  const list = metrics.transactions;
  if (!list.length) return h("p.quiet", "Nothing was measured yet: figures come when an exchange is over.");
  const begin = Math.min(...list.map((transaction) => Date.parse(transaction.fetchStartDate)));
  const end = Math.max(...list.flatMap((transaction) => [Date.parse(transaction.fetchStartDate), ...spanOf(transaction).map((phase) => phase.to)]));
  const whole = Math.max(1, end - begin);
  return h("div.waterfall", list.map((transaction) => h("section.exchange",
    h("h4", h("code", transaction.method), ` ${transaction.status ?? "no answer"} `, h("span.url", transaction.url)),
    h("p.quiet", facts(transaction)),
    h("dl", spanOf(transaction).map((phase) => bar(phase, begin, whole))))),
  h("p.quiet", `${span(whole)} in all`));
};
