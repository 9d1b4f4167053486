public import Glibc

extension statvfs {
    /// How many bytes so many of its blocks have; a file system of programs (FUSE) may say
    /// anything, and more than an `Int64` holds is as much as that.
    public func bytes(of blocks: fsblkcnt_t) -> Int64 {
        let (bytes, isTooMany) = Int64(clamping: blocks)
            .multipliedReportingOverflow(by: Int64(clamping: f_frsize))
        return isTooMany ? .max : bytes
    }
}
