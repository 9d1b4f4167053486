internal import Loop
internal import Semantics

/// What a session remembers from one task to the next; nil where it was told not to (S-24, S-25).
struct SessionMemory {
    var cookies: CookieStorage?
    var credentials: CredentialStorage?
    var cache: ResponseCache?
}
