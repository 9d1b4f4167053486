// What people paste in place of a URL.

const refusals = {
  "magnet:": "A magnet link needs a BitTorrent program such as Transmission or aria2: Ferry moves files over http and https.",
  "ftp:": "Ferry does not speak FTP. Many servers have the same file under https.",
  "sftp:": "Ferry does not speak SFTP: it moves files over http and https.",
  "file:": "That is a file on your own machine: drop it here to upload it.",
  "data:": "A data: URL has its content in itself: there is nothing to fetch.",
};

/** Where https hardly is: this machine, and addresses in digits. The command line takes http there, too. */
const isNear = (text) => /^(?:(?:[^/?#:]+\.)?localhost|[\d.]+|\[[^/?#]*\])(?:[:/?#]|$)/i.test(text);

/** The URLs of a text, one a line; `#` begins a comment. A name without a scheme gets https, or http where it is near. */
export const readURLs = (text) => text.split(/\r?\n/).map((line, index) => ({ line: index + 1, text: line.trim() }))
  .filter(({ text: one }) => one && !one.startsWith("#"))
  .map(({ line, text: one }) => {
    const scheme = /^([a-z][a-z0-9+.-]*:)(?!\d)/i.exec(one)?.[1].toLowerCase();
    if (scheme && scheme !== "http:" && scheme !== "https:") {
      return { line, text: one, fault: refusals[scheme] ?? `Ferry moves files over http and https, not ${scheme.slice(0, -1)}.` };
    }
    const url = scheme ? one : `${isNear(one) ? "http" : "https"}://${one}`;
    try { new URL(url); } catch { return { line, text: one, fault: "This is no URL." }; }
    if (/^https?:\/\/[^/?#]*@/i.test(url)) {
      return { line, text: one, fault: "Leave user and password out of the URL: store them in the session under Credentials, or answer when the server asks." };
    }
    return { line, text: one, url };
  });

/** Whether a dropped text is a list of URLs rather than something to upload. */
export const isList = (text) => {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
  return lines.length > 0 && lines.every((line) => /^(https?|magnet|ftp):/i.test(line));
};
