internal import Engine
internal import HTTP
internal import Semantics

/// A host that a client names beside its port, where no URL is given: that of a proxy, or of a
/// protection space.
enum HostName {
    /// Reads a name or an address, an IPv6 address without brackets.
    ///
    /// - Parameters:
    ///   - text: the host as the client wrote it.
    ///   - scheme: `http` or `https`: of the URL that the host is read as a part of.
    ///   - port: 1…65,535.
    ///   - pointer: where the text stands.
    ///   - parse: the one parser of URLs, which knows what a host is.
    /// - Returns: the host in normal form, as an origin has it.
    /// - Throws: the 422 of a text that is no host.
    static func parse(
        _ text: String, scheme: String = "http", port: Int, at pointer: String,
        _ parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> String {
        // Only an IPv6 address has colons, and brackets for them in a URL.
        let name = text.contains(":") ? "[\(text)]" : text
        guard text.utf8.count <= byteLimit, !text.contains(where: { "/?#@\\[]%".contains($0) }),
            let url = try? parse("\(scheme)://\(name):\(port)/"), url.port == port, url.path == "/"
        else {
            throw ProblemCode.invalidValue.problem(
                "The value must be a host name or an address.", at: pointer)
        }
        return url.origin.host
    }

    /// Reads the host that a filter names, an IPv6 address with brackets or without.
    ///
    /// - Returns: the host in normal form, as tasks and credentials have it; nil where the text is
    ///   no host.
    static func filtered(
        _ text: String, _ parse: (String) throws(URLRejection) -> WebURL
    ) -> String? {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]") && text.contains(":")
        let name = isBracketed ? String(text.dropFirst().dropLast()) : text
        return try? HostName.parse(name, port: 80, at: "", parse)
    }

    /// What is said of a filter's text that is no host.
    static let rule = "must be a host without a port"

    /// RFC 1035 §2.3.4, without the dot at the end.
    private static let byteLimit = 253
}
