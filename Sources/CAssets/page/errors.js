// What went wrong, and what a person can do about it. The names are NSURLError's.

const advice = {
  destinationDenied:
    "Ferry was started without permission for this address. Its operator can allow it: ferry serve --allow-destination ADDRESS (for example 192.168.1.0/24). Or your tenant's own rules forbid it.",
  digestMismatch: "The file is not the one that was expected: it has changed, or was damaged on the way. Compare the checksum with the publisher's, then retry.",
  cannotFindHost: "Check the spelling of the host name. If it is right, the gateway's DNS does not know it.",
  dnsLookupFailed: "The gateway's DNS did not answer. Try again in a moment.",
  cannotConnectToHost: "Nobody listens at this host and port, or a firewall is in between. Check the port, then retry.",
  networkConnectionLost: "The connection broke off. Retry goes on where the server allows it; with retries in the options this happens by itself.",
  notConnectedToInternet: "The gateway's machine has no route there. A session with “wait for connectivity” would wait for one.",
  timedOut: "Nothing came for too long. Retry, or raise the time-outs of the session.",
  cancelled: "It was cancelled. Retry starts it again.",
  badURL: "Check the URL.",
  unsupportedURL: "Ferry moves files over http and https only.",
  httpTooManyRedirects: "The server sends in circles. A missing cookie or credential is often the reason.",
  resourceUnavailable: "This task was allowed to use the cache only, which has no copy.",
  badServerResponse: "The server broke HTTP's rules, or changed the file meanwhile. Retry; if it fails again, the server needs mending.",
  userCancelledAuthentication: "Nobody gave a user and password. Retry in a session that asks for challenges, and answer under Decisions.",
  userAuthenticationRequired: "The server wants a user and password: use a session that asks for challenges, or store a credential in the session.",
  cannotDecodeRawData: "The content was damaged on its way. Retry.",
  cannotDecodeContentData: "The server used a content coding that Ferry does not know.",
  cannotParseResponse: "This is not HTTP. Check the port and the scheme.",
  requestBodyStreamExhausted: "The program that streams the body did not send it in time.",
  appTransportSecurityRequiresSecureConnection: "The server sends from https to plain http. A session that asks about redirects can permit it.",
  secureConnectionFailed: "No TLS could be agreed upon. The server may offer old versions only, which a session can permit.",
  serverCertificateHasBadDate: "The server's certificate has expired. Its operator has to renew it; a session that asks for challenges lets you look at it and decide.",
  serverCertificateUntrusted: "The certificate is not for this host, or not trusted. A session that asks for challenges shows it, and lets you decide.",
  serverCertificateHasUnknownRoot: "An unknown authority issued the certificate. Give Ferry the authority (--trusted-certificates FILE), or look at the certificate in a session that asks for challenges.",
  serverCertificateNotYetValid: "The certificate begins later than now. Compare the clocks of both machines.",
  clientCertificateRejected: "The server does not accept this client certificate.",
  clientCertificateRequired: "The server wants a client certificate: use a session that asks for challenges, and answer with the file.",
  backgroundSessionWasDisconnected: "The gateway stopped meanwhile. Retry starts it again; background sessions go on by themselves.",
  dataLengthExceedsMaximum: "The body is longer than was announced, or belongs to a HEAD request, which has none.",
  fileDoesNotExist: "The file to upload is not there any more. Choose it again.",
  cannotCreateFile: "The gateway could not write the file: look for room and permissions on its machine.",
  fileOutsideSafeArea: "Ferry saves nothing by way of a link or below a file. Start it anew with another path, or have the gateway's operator look at the folder.",
  cannotOpenFile: "The gateway could not open the file: look for permissions on its machine.",
  cannotWriteToFile: "The gateway could not write: look for room and permissions on its machine. Then retry.",
  cannotMoveFile: "The file could not be moved to its place: look for room, permissions and a file of the same name.",
};

const labels = {
  destinationDenied: "Not allowed", digestMismatch: "Wrong checksum", cannotFindHost: "Host not found",
  dnsLookupFailed: "No DNS", cannotConnectToHost: "No connection", networkConnectionLost: "Connection lost",
  notConnectedToInternet: "No route", timedOut: "Timed out", cancelled: "Cancelled", badURL: "Bad URL",
  httpTooManyRedirects: "Too many redirects", serverCertificateHasBadDate: "Certificate expired",
  serverCertificateUntrusted: "Certificate not trusted", serverCertificateHasUnknownRoot: "Unknown authority",
  userCancelledAuthentication: "No password given", userAuthenticationRequired: "Password needed",
  secureConnectionFailed: "No TLS", backgroundSessionWasDisconnected: "Gateway stopped",
  clientCertificateRequired: "Certificate needed", clientCertificateRejected: "Certificate refused",
  fileDoesNotExist: "File is gone", cannotCreateFile: "Not saved", cannotWriteToFile: "Not saved", fileOutsideSafeArea: "Not saved",
};

const statuses = {
  400: "The server did not understand the request.",
  401: "The server wants a user and password. A session that asks for challenges would show its question here.",
  403: "The server does not allow this. Check the URL, the credentials and the cookies of the session.",
  404: "There is nothing at this URL. Check its spelling.",
  405: "The server does not allow this method here.",
  407: "The proxy wants a user and password.",
  410: "What was at this URL is gone for good.",
  413: "The server refuses so large a body.",
  416: "The server has no such range: the file has probably changed. Retry begins from zero.",
  429: "The server is asked too often. Wait, or use retries with Retry-After.",
  500: "The server failed. Retry later.",
  502: "A server in between got no good answer. Retry later.",
  503: "The server is overloaded or down. Retry later.",
  504: "A server in between waited too long. Retry later.",
};

/** Two or three words, for a row. */
export const shortError = (error) => labels[error.name]
  ?? error.name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^./, (letter) => letter.toUpperCase());

/** What can be done about a file that is to be saved in a folder of the gateway's machine, by the gateway's own words. */
const folderAdvice = [
  [/^There is a file already/, "A retry would find it there again. Start it anew under another name, or with “Choose another name” or “Replace it” among the options."],
  [/^There is a folder already/, "A folder is never replaced. Start it anew under another name, or with “Choose another name” among the options."],
  [/^The folder .* does not exist/, "The gateway's operator has to make the folder, or bring back the disk that it is on. Then retry."],
  [/^The disk of the folder/, "Make room on that disk, or save it in another folder. Then retry."],
];

/** A sentence of what to do. */
export const whatToDo = (error) => folderAdvice.find(([words]) => words.test(error.message))?.[1] ?? advice[error.name] ?? "Retry; if it fails again, the words below help to find out why.";

export const statusAdvice = (status) => statuses[status]
  ?? (status >= 500 ? "The server failed. Retry later." : "The server refused the request.");
