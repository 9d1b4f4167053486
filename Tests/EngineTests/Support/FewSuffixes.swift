import Engine

/// A public suffix list of a few names.
struct FewSuffixes: PublicSuffixes {
    func isPublicSuffix(_ name: String) -> Bool {
        !name.contains(".") || name == "co.uk" || name == "pages.test"
    }
}
