internal import CNghttp2
internal import Syntax

/// A header as nghttp2 takes it: names in lower case, those that begin with a colon first.
struct HTTP2Fields {
    private struct Field {
        let name: Range<Int>
        let value: Range<Int>
        /// Whether it is another one each time, and of no use in the table of headers.
        let isUnique: Bool
    }

    private var bytes: [UInt8] = []
    private var fields: [Field] = []

    /// Bytes of names and values.
    var size: Int { bytes.count }

    private init() {
        // Less than the allocator keeps at hand for the next one.
        bytes.reserveCapacity(896)
        fields.reserveCapacity(20)
    }

    /// The header of a request, without fields yet.
    init(
        method: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer, to origin: ServerOrigin
    ) {
        self.init()
        add(":method") { $0.append(contentsOf: method) }
        add(":scheme") { $0.append(contentsOf: (origin.isSecure ? "https" : "http").utf8) }
        add(":authority") { $0.append(contentsOf: origin.authority.utf8) }
        add(":path") { $0.append(contentsOf: target) }
    }

    init(status: Int) {
        self.init()
        add(":status") { $0.append(contentsOf: String(status).utf8) }
    }

    /// All of an answer's fields.
    init(_ head: AnswerHead, date: ArraySlice<UInt8>) {
        self.init(status: head.status)
        add("date") { $0.append(contentsOf: date) }
        add("ferry-request-id", isUnique: true) { bytes in
            head.writeID { bytes.append(contentsOf: $0) }
        }
        for field in head.fields {
            let name = append { $0.append(contentsOf: field.name.utf8.lazy.map(Octets.lowercased)) }
            let value = append { $0.append(text: field.value) }
            let isUnique = bytes[name].elementsEqual("ferry-proof".utf8)
            // What could end a line of HTTP/1 ends no field here; clients still refuse it.
            for index in value where !Octets.isFieldValue(bytes[index]) {
                bytes[index] = Octets.space
            }
            fields.append(Field(name: name, value: value, isUnique: isUnique))
        }
        if case .known(let length) = head.length {
            add("content-length") { $0.append(contentsOf: String(length).utf8) }
        }
    }

    /// Adds a field.
    mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        let name = append { $0.append(contentsOf: name.lazy.map(Octets.lowercased)) }
        let value = append { $0.append(contentsOf: value) }
        fields.append(Field(name: name, value: value, isUnique: false))
    }

    /// Adds a field whose name is in lower case.
    mutating func add(
        _ name: StaticString, isUnique: Bool = false, _ write: (inout [UInt8]) -> Void
    ) {
        let range = append {
            $0.append(
                contentsOf: UnsafeBufferPointer(
                    start: name.utf8Start, count: name.utf8CodeUnitCount))
        }
        fields.append(Field(name: range, value: append(write), isUnique: isUnique))
    }

    private mutating func append(_ write: (inout [UInt8]) -> Void) -> Range<Int> {
        let start = bytes.count
        write(&bytes)
        return start..<bytes.count
    }

    /// Lends the fields as nghttp2 reads them, and their number.
    func withEntries(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Void) {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            let base = UnsafeMutableRawPointer(mutating: start).assumingMemoryBound(to: UInt8.self)
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.count) { entries in
                for (index, field) in fields.enumerated() {
                    let flags = field.isUnique ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
                    entries.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: base + field.name.lowerBound,
                            value: base + field.value.lowerBound, namelen: field.name.count,
                            valuelen: field.value.count, flags: UInt8(flags.rawValue)))
                }
                body(entries.baseAddress, fields.count)
            }
        }
    }
}

extension [UInt8] {
    /// Appends text at once: by its UTF8View it would go byte by byte.
    mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }
}
