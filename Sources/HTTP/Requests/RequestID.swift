internal import Syntax

/// What a request is called in its answer, in the log, and by what it creates: the client's
/// `X-Request-Id` where that is a token of at most 128 bytes, else 13 digits of the server's own.
struct RequestID {
    /// The longest name of a client's that is kept, in bytes.
    static let longest = 128
    /// Digits of a name of the server's own.
    static let length = 13

    /// The server's own; not used where the client has given one.
    let number: UInt64

    /// Writes the server's own name: lower-case letters and digits without i, l, o and u, five bits
    /// each. It fits into a string without memory of its own.
    @inline(__always)
    func write(_ put: (UInt8) -> Void) {
        var shift = 5 * (RequestID.length - 1)
        while shift >= 0 {
            put(RequestID.alphabet.utf8Start[Int(truncatingIfNeeded: number >> UInt64(shift)) & 31])
            shift -= 5
        }
    }

    /// The server's own name.
    var text: String {
        String(unsafeUninitializedCapacity: RequestID.length) { output in
            var count = 0
            write {
                output[count] = $0
                count += 1
            }
            return count
        }
    }

    /// Whether a client's name is kept.
    static func isKept(_ name: UnsafeRawBufferPointer) -> Bool {
        !name.isEmpty && name.count <= longest && name.allSatisfy(Octets.isToken)
    }

    private static let alphabet: StaticString = "0123456789abcdefghjkmnpqrstvwxyz"
}

/// Numbers for requests: each comes once in 2^64, and none tells how many there were.
struct RequestNumbers {
    private var state = UInt64.random(in: .min ... .max)

    /// SplitMix64: a walk through all numbers, stirred by a bijection. Costs a few instructions.
    /// <https://prng.di.unimi.it/splitmix64.c>
    mutating func next() -> RequestID {
        state &+= 0x9E37_79B9_7F4A_7C15
        var number = state
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return RequestID(number: number ^ (number >> 31))
    }
}
