/// Reads one JSON text (RFC 8259) value by value, as the caller asks for them.
///
/// Strict: nothing but the RFC's grammar in UTF-8, no byte order mark, no lone surrogates, no
/// member twice in an object, nothing behind the value. Every byte is checked, also of values that
/// are skipped. Nothing in the text can stop the process; a caller that does not read a value, or
/// reads past it, does.
///
/// ```swift
/// let request = try JSONReader.read(bytes) { reader throws(JSONError) in
///     var url: String?
///     var limit = 100
///     try reader.object { reader, name throws(JSONError) in
///         switch name {
///         case "url": url = try reader.string()
///         case "limit": limit = try reader.int(in: 1...500)
///         default: throw reader.unknownMember(name)
///         }
///     }
///     guard let url else { throw reader.fail("is missing", at: "url") }
///     return Request(url, limit)
/// }
/// ```
///
/// An error ends the reading: to go on after a refused value, read it through `result(of:)`.
public struct JSONReader: Sendable {
    /// How much a text may ask of its reader.
    public struct Limits: Sendable {
        /// The largest text, in bytes.
        public let byteLimit: Int
        /// How many objects and arrays may stand inside one another, 1 to 512.
        public let depthLimit: Int

        /// The limits of a request's body unless others are given (rule X-11): 1 MiB, 32 levels.
        public init(byteLimit: Int = 1 << 20, depthLimit: Int = 32) {
            precondition((1...512).contains(depthLimit), "a depth limit is 1 to 512")
            self.byteLimit = byteLimit
            self.depthLimit = depthLimit
        }
    }

    /// The kinds of value that JSON has.
    public enum Kind: Sendable {
        case object, array, string, number, bool, null
    }

    /// An object or array that has been entered; or the text itself, which has no members.
    struct Frame {
        var isArray = false
        /// How many names of outer objects are in `names`.
        var outerNames = 0
        /// Members or elements begun so far.
        var count = 0
        /// Where the value of the current member or element begins.
        var valueOffset = 0
    }

    let bytes: [UInt8]
    let depthLimit: Int
    var index = 0
    var frame = Frame()
    var outerFrames: [Frame] = []
    var names = MemberNames()
    /// Whether the value that is due has not been read yet.
    var expectsValue = true
    /// The error that was thrown last by the reader itself.
    var failure: JSONError?

    /// A reader of `bytes`, which it keeps.
    ///
    /// - Throws: `malformed` when there are more bytes than the limit.
    public init(_ bytes: [UInt8], limits: Limits = Limits()) throws(JSONError) {
        guard bytes.count <= limits.byteLimit else {
            throw JSONError(
                kind: .malformed, pointer: "",
                detail: "must not be longer than \(limits.byteLimit) bytes",
                offset: limits.byteLimit)
        }
        self.bytes = bytes
        depthLimit = limits.depthLimit
        outerFrames.reserveCapacity(8)
    }

    /// Reads a whole text with `body`, which must read the one value.
    ///
    /// The error for text that is both malformed and wrong is `malformed`, wherever the faults
    /// stand: a text with a wrong value is read once more to its end.
    /// - Throws: what `body` throws, or `malformed`.
    public static func read<Value>(
        _ bytes: [UInt8], limits: Limits = Limits(),
        _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        var reader = try JSONReader(bytes, limits: limits)
        do throws(JSONError) {
            let value = try body(&reader)
            try reader.end()
            return value
        } catch {
            if error.kind != .malformed {
                var second = try JSONReader(bytes, limits: limits)
                try second.skipValue()
                try second.end()
            }
            throw error
        }
    }

    /// Checks that nothing but white space follows the value that has been read.
    ///
    /// - Throws: `malformed` when something does.
    public mutating func end() throws(JSONError) {
        if let failure, failure.kind == .malformed || expectsValue { throw failure }
        precondition(outerFrames.isEmpty && !expectsValue, "the end is only after the value")
        _ = nextByte()
        guard index == bytes.count else { throw malformed("must end after its one value") }
    }

    // MARK: Containers

    /// Reads an object: calls `member` for each member with its name, in order.
    ///
    /// `member` must read the value, once. Names that differ only in their escapes are the same;
    /// for the duplicates it is the code points that count, so Unicode's equivalent forms are
    /// different names.
    /// - Throws: `wrongValue` when the value is no object; `malformed`; what `member` throws.
    public mutating func object(
        _ member: (inout JSONReader, String) throws(JSONError) -> Void
    ) throws(JSONError) {
        try enter(.object)
        while try enterMember() {
            let name = names.text(at: names.count - 1, in: bytes)
            try member(&self, name)
            try requireValueRead()
        }
    }

    /// Reads an array: calls `element` for each element, in order. `element` must read it, once.
    ///
    /// - Throws: `wrongValue` when the value is no array; `malformed`; what `element` throws.
    public mutating func array(
        _ element: (inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        try enter(.array)
        while try enterElement() {
            try element(&self)
            try requireValueRead()
        }
    }

    private func requireValueRead() throws(JSONError) {
        guard expectsValue else { return }
        if let failure { throw failure }
        preconditionFailure("a member or element was not read")
    }

    // MARK: Values that are not looked into

    /// The kind of the value that is due; reads nothing of it.
    ///
    /// - Throws: `malformed` when no value begins there.
    public mutating func peekKind() throws(JSONError) -> Kind {
        precondition(expectsValue, "a value was read twice")
        guard let kind = Kind(firstByte: nextByte()) else {
            throw malformed(index < bytes.count ? "must begin as a value does" : "ends too early")
        }
        return kind
    }

    /// Reads a value of any kind and forgets it.
    ///
    /// - Throws: `malformed`.
    public mutating func skipValue() throws(JSONError) {
        switch try peekKind() {
        case .object:
            try enter(.object)
            while try enterMember() { try skipValue() }
        case .array:
            try enter(.array)
            while try enterElement() { try skipValue() }
        case .string:
            _ = try scanString()
            expectsValue = false
        case .number: _ = try numberToken()
        case .bool: _ = try bool()
        case .null: _ = try takeNull()
        }
    }

    /// Reads a value of any kind as the bytes that it consists of in the text, white space inside
    /// included.
    ///
    /// - Throws: `malformed`.
    public mutating func rawValue() throws(JSONError) -> [UInt8] {
        _ = try peekKind()
        let start = index
        try skipValue()
        return Array(bytes[start..<index])
    }

    /// Reads a value with `body`; when that is refused, skips the value and returns the refusal.
    ///
    /// For arrays whose elements are judged one by one. The text behind the refusal is still
    /// checked.
    /// - Throws: `malformed`.
    public mutating func result<Value>(
        of body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Result<Value, JSONError> {
        _ = try peekKind()
        let (start, frame, depth, nameCount) = (index, frame, outerFrames.count, names.count)
        do throws(JSONError) {
            return .success(try body(&self))
        } catch {
            guard error.kind != .malformed else { throw error }
            index = start
            self.frame = frame
            outerFrames.removeLast(outerFrames.count - depth)
            names.leave(to: nameCount)
            expectsValue = true
            failure = nil
            try skipValue()
            return .failure(error)
        }
    }
}
