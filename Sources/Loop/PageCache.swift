internal import CEvent
internal import Glibc

/// Reading of files from memory alone: never from the disk, and so fit for the loop.
public enum PageCache {
    /// Reads what the kernel has in memory of a file.
    ///
    /// - Parameters:
    ///   - descriptor: of a file that is open for reading, without O_DIRECT.
    ///   - buffer: is filled from its start; at least 1 byte.
    ///   - offset: of the first byte in the file.
    /// - Returns: how many bytes there were, 0 at the end of the file; nil where the disk would
    ///   have to be asked, and where the file system cannot tell.
    ///
    /// preadv2(2) with RWF_NOWAIT. <https://man7.org/linux/man-pages/man2/readv.2.html>
    public static func read(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) -> Int? {
        let count = cevent_pread_nowait(descriptor, buffer.baseAddress, buffer.count, offset)
        return count < 0 ? nil : count
    }
}
