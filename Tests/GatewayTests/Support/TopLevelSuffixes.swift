import Engine

/// A public suffix list of nothing but the names without a dot, whatever this machine's list says.
struct TopLevelSuffixes: PublicSuffixes {
    func isPublicSuffix(_ name: String) -> Bool { !name.contains(".") }
}
