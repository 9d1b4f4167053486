package import Engine

/// What is written of a record: one part that may lie in clear, one that must be sealed.
///
/// Both have the same fields, so that reading one and then the other gives the whole.
package struct RecordParts {
    package var clear = RecordWriter()
    package var secret = RecordWriter()

    /// Parts with nothing in them.
    package init() {}

    package var isEmpty: Bool { clear.isEmpty && secret.isEmpty }

    /// The bytes of both.
    package var byteCount: Int { clear.bytes.count + secret.bytes.count }

    /// Starts over, and keeps the memory.
    package mutating func reset() {
        clear.reset()
        secret.reset()
    }

    /// Puts a record inside both parts; a secret half with nothing in it is left out.
    package mutating func put(_ field: UInt8, record body: (inout RecordParts) -> Void) {
        let clearMark = clear.begin(field)
        let secretMark = secret.begin(field)
        body(&self)
        clear.end(clearMark)
        secret.endOrDrop(secretMark)
    }
}

/// The halves of a record inside the record, gathered while the record around it is read: first
/// its clear part, then its secret one.
package struct RecordHalves {
    private var clear: RecordReader?
    private var secret: RecordReader?

    /// Whether there is such a record.
    package var isPresent: Bool { clear != nil }

    /// Takes the next half.
    package mutating func take(_ half: RecordReader) {
        if clear == nil { clear = half } else { secret = half }
    }

    /// Both halves, of a record that must be there.
    package func whole() throws(StoreError) -> (clear: RecordReader, secret: RecordReader?) {
        guard let clear else { throw .damagedRecord }
        return (clear, secret)
    }
}
