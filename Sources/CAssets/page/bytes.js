// Bytes as text, and digests in the forms that people copy.

export const base64 = (bytes) => {
  let text = "";
  for (let from = 0; from < bytes.length; from += 0x8000) text += String.fromCharCode(...bytes.subarray(from, from + 0x8000));
  return btoa(text);
};

/** `sha-256=:…:` of hexadecimal, base64 or RFC 9530's own form; null where it is none of them. */
export const digestOf = (text) => {
  const plain = text.trim().replace(/^sha-?(256|512)[:=\s]+(?!:)/i, "");
  if (/^sha-(256|512)=:[A-Za-z0-9+/]+=*:$/.test(text.trim())) return text.trim();
  const hex = plain.replaceAll(":", "");
  if (/^([0-9a-f]{64}|[0-9a-f]{128})$/i.test(hex)) {
    const bytes = Uint8Array.from(hex.match(/../g), (pair) => Number.parseInt(pair, 16));
    return `sha-${bytes.length * 8}=:${base64(bytes)}:`;
  }
  if (/^[A-Za-z0-9+/]{43}=$/.test(plain)) return `sha-256=:${plain}:`;
  return /^[A-Za-z0-9+/]{86}==$/.test(plain) ? `sha-512=:${plain}:` : null;
};
