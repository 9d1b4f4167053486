// A server's certificate chain, drawn from the authority down to the server, and explained.

import { h, icon } from "./dom.js";
import { dateOnly } from "./format.js";

/** What OpenSSL calls wrong, in words for people (X509_V_ERR_…). */
const faults = {
  2: "Its issuer's certificate is missing.", 9: "It is not valid yet.", 10: "It has expired.",
  18: "It has signed itself: nobody vouches for it.",
  19: "The authority at the top of the chain is not known to the gateway.",
  20: "The authority that issued it is not known to the gateway.",
  21: "Its signature could not be checked.", 23: "It has been revoked.", 24: "Its issuer may not issue certificates.",
  26: "It is meant for another purpose.", 62: "It is for another host name.", 64: "It is for another address.",
};

/** A part of a distinguished name as RFC 2253 writes it. */
const partOf = (name, key) => new RegExp(`(?:^|,)${key}=((?:\\\\.|[^,])+)`).exec(name)?.[1].replaceAll("\\", "") ?? null;

/** What people call it: the common name, else the unit or the organization. */
const commonName = (name) => partOf(name, "CN") ?? partOf(name, "OU") ?? partOf(name, "O") ?? name;

/** sha-256=:…: as pairs of hexadecimal digits, as browsers and `openssl x509 -fingerprint` show it. */
export const fingerprintText = (fingerprint) => {
  const bytes = Uint8Array.from(atob(fingerprint.slice(9, -1)), (letter) => letter.charCodeAt(0));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(":");
};

const days = (instant) => Math.round((Date.parse(instant) - Date.now()) / 86_400_000);

const validity = (certificate) => {
  const before = days(certificate.notBefore);
  const after = days(certificate.notAfter);
  const dates = `${dateOnly(certificate.notBefore)} – ${dateOnly(certificate.notAfter)}`;
  if (after < 0) return { words: `${dates}, expired ${-after} days ago`, isBad: true };
  if (before > 0) return { words: `${dates}, begins in ${before} days`, isBad: true };
  return { words: `${dates}, ${after > 1000 ? `${Math.floor(after / 365)} years` : `${after} days`} left`, isBad: false };
};

const link = (certificate, depth, chain, failures, host) => {
  const time = validity(certificate);
  const isLeaf = depth === 0;
  const isSelfSigned = certificate.subject === certificate.issuer;
  const fact = (name, value, isBad) => [h("dt", name), h(`dd${isBad ? ".bad" : ""}`, value)];
  const names = certificate.subjectAlternativeNames;
  return h(
    `li.link${failures.length ? ".bad" : ""}`,
    h("div.link-head", icon(failures.length ? "alert" : isLeaf ? "lock" : "check"),
      h("strong", commonName(certificate.subject)),
      h("span.quiet", isLeaf ? "the server" : isSelfSigned ? "authority" : "in between")),
    failures.map((failure) => h("p.fault", faults[failure.code] ?? `${failure.message}.`)),
    h("dl.facts",
      partOf(certificate.subject, "O") && fact("Organization", partOf(certificate.subject, "O")),
      isLeaf && fact("For", names.length ? names.join(", ") : "no host at all", failures.some(({ code }) => code === 62 || code === 64)),
      fact("Issued by", isSelfSigned ? "itself" : commonName(certificate.issuer)),
      fact("Valid", time.words, time.isBad),
      fact("SHA-256", h("code.fingerprint", fingerprintText(certificate.fingerprint)))),
    isLeaf && failures.some(({ code }) => code === 62) && h("p.quiet", `It was asked for ${host}.`));
};

/** The chain, the authority first. */
export const chain = (trust, host) => {
  const list = trust.certificates.map((certificate, depth) => link(
    certificate, depth, trust.certificates, trust.evaluation.failures.filter((failure) => failure.depth === depth), host));
  // What is wrong above the chain that the server sent belongs to its last certificate.
  const above = trust.evaluation.failures.filter((failure) => failure.depth >= trust.certificates.length);
  return h("div", above.map((failure) => h("p.fault", faults[failure.code] ?? failure.message)),
    h("ol.chain", { "aria-label": "Certificates, from the authority to the server" }, list.reverse()));
};

/** One sentence before the drawing. */
export const verdict = (trust, host) => {
  const { trusted, failures } = trust.evaluation;
  if (trusted) return `The chain is in order: ${host} is vouched for by an authority that the gateway knows.`;
  const first = failures[0];
  const words = first ? (faults[first.code] ?? first.message).replace(/\.$/, "").replace(/^It /, "the certificate ") : "it was not verified";
  return `The gateway cannot be sure that this is ${host}: ${words.charAt(0).toLowerCase()}${words.slice(1)}. Somebody in between could read and change what is sent.`;
};
