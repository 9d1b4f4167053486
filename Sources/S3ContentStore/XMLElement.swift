internal import CExpat

/// An element of an XML document, as S3 answers: its name as it is written, its text, and the
/// elements in it.
struct XMLElement {
    let name: String
    private(set) var text = ""
    private(set) var children: [XMLElement] = []

    /// The root of a document, read by libexpat; nil for one that is not well-formed, or deeper
    /// than S3's are. Space in front is fine: some servers send it while they work. Costs about 10
    /// ns a byte. <https://libexpat.github.io/doc/api/latest/>
    static func root(of document: [UInt8]) -> XMLElement? {
        guard let parser = XML_ParserCreate(nil) else { return nil }
        defer { XML_ParserFree(parser) }
        let builder = Builder()
        // Safe: expat calls back only within XML_Parse, while the builder is alive.
        XML_SetUserData(parser, Unmanaged.passUnretained(builder).toOpaque())
        XML_SetElementHandler(
            parser,
            { context, name, _ in
                guard let builder = Builder.of(context), let name else { return }
                builder.begin(String(cString: name))
            }, { context, _ in Builder.of(context)?.end() })
        XML_SetCharacterDataHandler(parser) { context, text, count in
            guard let builder = Builder.of(context), let text else { return }
            let bytes = UnsafeRawBufferPointer(start: text, count: Int(count))
            builder.add(String(decoding: bytes, as: UTF8.self))
        }
        let start = document.firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? 0
        let status = document[start...].withUnsafeBytes { bytes in
            XML_Parse(
                parser, bytes.assumingMemoryBound(to: CChar.self).baseAddress, Int32(bytes.count), 1
            )
        }
        guard status == XML_STATUS_OK, !builder.isTooDeep else { return nil }
        return builder.root
    }

    /// The text of the first element of a name; nil where there is none.
    func text(of name: String) -> String? { first(name)?.text }

    /// The first element of a name.
    func first(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// All elements of a name.
    func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

    /// Text as it stands in a document.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    private final class Builder {
        private static let depthLimit = 16
        private var open: [XMLElement] = []
        private(set) var root: XMLElement?
        private(set) var isTooDeep = false

        static func of(_ context: UnsafeMutableRawPointer?) -> Builder? {
            context.map { Unmanaged<Builder>.fromOpaque($0).takeUnretainedValue() }
        }

        func begin(_ name: String) {
            isTooDeep = isTooDeep || open.count == Self.depthLimit
            if !isTooDeep { open.append(XMLElement(name: name)) }
        }

        func add(_ text: String) {
            if !isTooDeep, !open.isEmpty { open[open.count - 1].text += text }
        }

        func end() {
            guard !isTooDeep, let element = open.popLast() else { return }
            if open.isEmpty {
                root = element
            } else {
                open[open.count - 1].children.append(element)
            }
        }
    }
}
