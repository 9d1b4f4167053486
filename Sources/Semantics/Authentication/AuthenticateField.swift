internal import Syntax

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` value (RFC 9110 §11.3).
struct AuthenticateChallenge: Equatable {
    /// As it came, in any case of letters.
    var scheme: String
    /// Name in lower case and value, without quotes and escapes, in their order. A token68 is none.
    var parameters: [Parameter] = []

    struct Parameter: Equatable {
        let name: String
        let value: String
    }

    /// The first parameter of this name, in lower case: names do not repeat (RFC 9110 §11.2).
    subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }
}

/// Reads the challenges of one field value, in time that is linear in its length.
///
/// Reads what origins send: an element of the list that fits no grammar is skipped up to the next
/// comma outside of quotes, together with the parameters that follow it, for they could be
/// anybody's; a quote that nothing closes ends the value, and what came before it stays.
struct AuthenticateField {
    /// In their order.
    private(set) var challenges: [AuthenticateChallenge] = []

    private var rest: Substring.UTF8View
    /// Whether a parameter that comes now belongs to the last challenge.
    private var isOpen = false

    init(parsing value: String) {
        rest = Substring(value).utf8
        while !rest.isEmpty {
            readElement()
            skipElement()
        }
    }

    /// Behind a comma, where a challenge begins or a parameter follows: only a parameter has `=`
    /// behind its first word.
    private mutating func readElement() {
        skipSpace()
        guard rest.first != UInt8(ascii: ",") else { return }
        let word = take(while: Octets.isToken)
        let space = take(while: Octets.isWhitespace)
        switch rest.first {
        case _ where word.isEmpty: isOpen = false
        case UInt8(ascii: "="): readParameter(named: word)
        case nil, UInt8(ascii: ","): begin(word)
        case _ where !space.isEmpty:
            begin(word)
            readCredentialsOfScheme()
        default: isOpen = false
        }
    }

    private mutating func begin(_ scheme: Substring.UTF8View) {
        challenges.append(AuthenticateChallenge(scheme: String(Substring(scheme))))
        isOpen = true
    }

    /// Behind `auth-scheme 1*SP`: a token68, which is passed over, or the first parameter.
    private mutating func readCredentialsOfScheme() {
        let start = rest
        if !take(while: AuthenticateField.isToken68Byte).isEmpty {
            _ = take { $0 == UInt8(ascii: "=") }
            skipSpace()
            if rest.isEmpty || rest.first == UInt8(ascii: ",") { return }
            rest = start
        }
        let name = take(while: Octets.isToken)
        skipSpace()
        if !name.isEmpty, rest.first == UInt8(ascii: "=") { readParameter(named: name) }
    }

    /// At the `=`. A value without quotes may be more than a token: origins write realms with
    /// blanks in them.
    private mutating func readParameter(named name: Substring.UTF8View) {
        rest.removeFirst()
        skipSpace()
        let value: String?
        if rest.first == UInt8(ascii: "\"") {
            value = FieldSyntax.takeQuoted(from: &rest)
        } else {
            let text = take { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") }
            value = String(Substring(text).trimmingFieldSpace)
        }
        guard let value, isOpen, !challenges.isEmpty else { return }
        challenges[challenges.endIndex - 1].parameters.append(
            AuthenticateChallenge.Parameter(
                name: Substring(name).asciiLowercased, value: value))
    }

    /// Passes the comma that ends the element, and whatever stands before it.
    private mutating func skipElement() {
        while let byte = rest.first, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") {
                _ = FieldSyntax.takeQuoted(from: &rest)
            } else {
                rest.removeFirst()
            }
        }
        if !rest.isEmpty { rest.removeFirst() }
    }

    private mutating func skipSpace() { _ = take(while: Octets.isWhitespace) }

    private mutating func take(while isWanted: (UInt8) -> Bool) -> Substring.UTF8View {
        let taken = rest.prefix(while: isWanted)
        rest = rest[taken.endIndex...]
        return taken
    }

    /// RFC 9110 §11.2: `token68`, before the `=` at its end.
    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        Octets.isUnreserved(byte) || byte == UInt8(ascii: "+") || byte == Octets.slash
    }
}
