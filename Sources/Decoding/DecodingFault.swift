public import Semantics

/// Why a coded content is not whole.
public enum DecodingFault: Error, Equatable, Sendable {
    /// It has begun, and its own end has not come.
    case unfinished(ContentCoding.Layer)
    /// Something that is none of it comes behind its end.
    case trailing(ContentCoding.Layer)
    /// It is not what its checksum, or its length, was made of.
    case wrongChecksum(ContentCoding.Layer)
    /// It cannot be read; with the decoder's own words.
    case damaged(ContentCoding.Layer, words: String)
    /// There is no memory to decode it.
    case noMemory(ContentCoding.Layer)

    /// One sentence for a person.
    public var sentence: String {
        switch self {
        case .unfinished(let layer): "The \(layer.rawValue) content breaks off before its end."
        case .trailing(let layer):
            "There are bytes behind the end of the \(layer.rawValue) content."
        case .wrongChecksum(let layer):
            "The \(layer.rawValue) content does not agree with its checksum."
        case .damaged(let layer, let words): "The \(layer.rawValue) content is damaged: \(words)."
        case .noMemory(let layer): "There is no memory to decode the \(layer.rawValue) content."
        }
    }
}
