/// Writes one JSON value (RFC 8259) on one line, into bytes that it owns.
///
/// Commas, quotes and escapes are the writer's; what belongs where is the caller's: a name outside
/// an object, a second root or an element without its array is a programming error and stops the
/// process.
///
/// ```swift
/// var json = JSONWriter()
/// json.object { json in
///     json.member("url", url)
///     json.object("headers") { json in
///         for (name, value) in headers { json.member(named: name, value) }
///     }
/// }
/// let bytes = json.finish()
/// ```
///
/// After an error thrown by a body of the caller's, the value is not whole and cannot be finished.
public struct JSONWriter: ~Copyable {
    /// What may be written next, and whether a comma goes before it.
    enum Place: UInt8 {
        case root, end
        case firstElement, element
        case firstName, name
        case value
    }

    var output: ByteBuffer
    var place = Place.root

    /// A writer of one value, with room for `capacity` bytes before it has to grow.
    public init(capacity: Int = 1024) {
        output = ByteBuffer(capacity: capacity)
    }

    /// The written bytes. One whole value must have been written.
    public consuming func finish() -> [UInt8] {
        precondition(place == .end, "a JSON value was begun and not ended")
        return output.bytes
    }

    /// Lends the written bytes; one whole value must have been written. The writer is as new then,
    /// and keeps its room: for many values that are copied elsewhere.
    public mutating func lend(_ body: (UnsafeRawBufferPointer) -> Void) {
        precondition(place == .end, "a JSON value was begun and not ended")
        output.lend(body)
        output.clear()
        place = .root
    }

    // MARK: Places

    /// Writes the comma that a value may need, and answers the place after that value.
    @inline(__always)
    mutating func beginValue() -> Place {
        switch place {
        case .value: return .name
        case .root: return .end
        case .firstElement: return .element
        case .element:
            output.append(UInt8(ascii: ","))
            return .element
        case .firstName, .name: preconditionFailure("a value in a JSON object needs a name")
        case .end: preconditionFailure("the JSON value is complete")
        }
    }

    /// Writes the comma that a name may need. A value must follow.
    @inline(__always)
    mutating func beginName() {
        switch place {
        case .firstName: break
        case .name: output.append(UInt8(ascii: ","))
        default: preconditionFailure("a JSON name stands only in an object, before its value")
        }
        place = .value
    }

    // MARK: Names

    /// Writes a member's name; its value must follow. The name must need no escape.
    public mutating func name(_ name: StaticString) {
        beginName()
        assert(StringMarks.areNone(in: name), "a name with marks must be written by name(named:)")
        output.append(name: name)
    }

    /// Writes a member's name that is known only now, escaped; its value must follow.
    public mutating func name(named name: String) {
        beginName()
        quote(name)
        output.append(UInt8(ascii: ":"))
    }

    // MARK: Written in pieces

    /// Begins the text as an object that `endRoot` ends: for what is not written by one call.
    public mutating func beginRoot() {
        precondition(place == .root, "the JSON value has been begun")
        output.append(UInt8(ascii: "{"))
        place = .firstName
    }

    /// Ends the object that `beginRoot` has begun.
    public mutating func endRoot() {
        precondition(place == .firstName || place == .name, "a JSON member has no value")
        output.append(UInt8(ascii: "}"))
        place = .end
    }

    /// Begins a member that is an array, which `endArray` ends. The name must need no escape.
    public mutating func beginArray(_ name: StaticString) {
        self.name(name)
        output.append(UInt8(ascii: "["))
        place = .firstElement
    }

    /// Ends the array that `beginArray` has begun.
    public mutating func endArray() {
        precondition(place == .firstElement || place == .element, "a JSON array was left open")
        output.append(UInt8(ascii: "]"))
        place = .name
    }

    // MARK: Containers

    /// Writes an object whose members `body` writes.
    public mutating func object<E: Error>(
        _ body: (inout JSONWriter) throws(E) -> Void
    ) throws(E) {
        let next = beginValue()
        output.append(UInt8(ascii: "{"))
        place = .firstName
        try body(&self)
        precondition(place == .firstName || place == .name, "a JSON member has no value")
        output.append(UInt8(ascii: "}"))
        place = next
    }

    /// Writes an array whose elements `body` writes.
    public mutating func array<E: Error>(
        _ body: (inout JSONWriter) throws(E) -> Void
    ) throws(E) {
        let next = beginValue()
        output.append(UInt8(ascii: "["))
        place = .firstElement
        try body(&self)
        precondition(place == .firstElement || place == .element, "a JSON array was left open")
        output.append(UInt8(ascii: "]"))
        place = next
    }
}
