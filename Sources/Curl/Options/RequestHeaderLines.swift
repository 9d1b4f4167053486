internal import CCurl
internal import Semantics

/// A request's header in libcurl's notation: `Name: value`, `Name;` for an empty value, and `Name:`
/// for a line that libcurl shall not add by itself.
///
/// libcurl only reads the list, so all nodes lie in one block, and so does the text: a list that
/// `curl_slist_append` makes takes two blocks for each line.
/// <https://curl.se/libcurl/c/CURLOPT_HTTPHEADER.html>
struct RequestHeaderLines: ~Copyable {
    private let nodes: UnsafeMutableBufferPointer<curl_slist>
    private let text: UnsafeMutableBufferPointer<CChar>

    /// The lines to send, and those that libcurl shall not add.
    init(_ headers: HeaderList) {
        var omitted: [StaticString] = []
        omitted.reserveCapacity(3)
        if !headers.contains("Accept") { omitted.append("Accept:") }
        if !headers.contains("Content-Type") { omitted.append("Content-Type:") }
        // libcurl waits a second for the 100 of a body that is longer than 1 MiB.
        omitted.append("Expect:")
        let count = headers.count + omitted.count
        // Behind each name a colon and a space, or a semicolon, and a NUL behind each line.
        let length =
            headers.byteCount + 3 * headers.count
            + omitted.reduce(0) { $0 + $1.utf8CodeUnitCount + 1 }
        nodes = .allocate(capacity: count)
        text = .allocate(capacity: length)
        var line = 0
        var end = 0
        for index in headers.fields.indices {
            begin(&line, at: end)
            write(headers.fields[index], at: &end)
        }
        for name in omitted {
            begin(&line, at: end)
            write(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), &end)
            write(0, &end)
        }
    }

    deinit {
        nodes.deallocate()
        text.deallocate()
    }

    /// What CURLOPT_HTTPHEADER takes; there is always a line.
    var first: UnsafeMutablePointer<curl_slist>? { nodes.baseAddress }

    private func begin(_ line: inout Int, at start: Int) {
        nodes.initializeElement(
            at: line, to: curl_slist(data: text.baseAddress.map { $0 + start }, next: nil))
        if line > 0 { nodes[line - 1].next = nodes.baseAddress.map { $0 + line } }
        line += 1
    }

    private func write(_ field: HeaderField, at end: inout Int) {
        write(field.name, &end)
        if field.value.isEmpty {
            write(UInt8(ascii: ";"), &end)
        } else {
            write(UInt8(ascii: ":"), &end)
            write(UInt8(ascii: " "), &end)
            let isCookie = field.name.utf8.count == 6 && field.name.lowercased() == "cookie"
            if isCookie, let bytes = OpaqueBytes.bytes(of: field.value) {
                bytes.withUnsafeBufferPointer { write($0, &end) }
            } else {
                write(field.value, &end)
            }
        }
        write(0, &end)
    }

    private func write(_ string: String, _ end: inout Int) {
        var string = string
        string.withUTF8 { write($0, &end) }
    }

    private func write(_ bytes: UnsafeBufferPointer<UInt8>, _ end: inout Int) {
        for byte in bytes { write(byte, &end) }
    }

    private func write(_ byte: UInt8, _ end: inout Int) {
        text.initializeElement(at: end, to: CChar(bitPattern: byte))
        end += 1
    }
}
