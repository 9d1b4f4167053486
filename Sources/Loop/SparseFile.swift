internal import CEvent

/// Files of which the disk has a part.
public enum SparseFile {
    /// Takes bytes of a file off the disk; they are zeros from then on, and the file's length
    /// stays.
    ///
    /// fallocate(2) with FALLOC_FL_PUNCH_HOLE.
    /// <https://man7.org/linux/man-pages/man2/fallocate.2.html>
    ///
    /// - Parameters:
    ///   - descriptor: of a file that is open for writing.
    ///   - start: the first byte.
    ///   - count: how many bytes; at least 1.
    /// - Returns: false where the file system cannot.
    public static func punch(_ descriptor: CInt, from start: Int64, count: Int64) -> Bool {
        cevent_punch_hole(descriptor, start, count) == 0
    }
}
