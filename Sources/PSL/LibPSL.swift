internal import CPSL
public import Engine

/// The public suffix list by libpsl: the adapter behind the engine's `PublicSuffixes` port.
///
/// <https://rockdaboot.github.io/libpsl/libpsl-Public-Suffix-List-functions.html>
public final class LibPSL: PublicSuffixes, @unchecked Sendable {
    // Safe to share: a list is never changed after it was loaded. libpsl has no function that
    // writes to one, and its look-ups keep what they work on in their own stack, so any number of
    // threads may ask at once.
    private let list: OpaquePointer

    /// Loads the newer one of Debian's list (package `publicsuffix`, which stable releases update)
    /// and the list inside of libpsl. Reads a file of about 50 KiB.
    ///
    /// - Throws: `NoList` where there is neither: a jar that knows no suffixes would take cookies
    ///   for all of `com`.
    public init() throws(NoList) {
        guard let list = psl_latest(nil) ?? psl_builtin() else { throw NoList() }
        self.list = list
    }

    deinit {
        // Does nothing to the list inside of libpsl.
        psl_free(list)
    }

    /// Judges a name; the suffixes of hosting companies, such as `github.io`, count too. 1 to 3 µs.
    public func isPublicSuffix(_ name: String) -> Bool {
        psl_is_public_suffix2(list, name, cpsl_any) == 1
    }

    /// This machine has no public suffix list.
    public struct NoList: Error, CustomStringConvertible {
        /// What to do about it.
        public var description: String {
            "libpsl has no public suffix list: please install the package publicsuffix"
        }
    }
}
