internal import CEvent

/// The heap, where Swift's objects and the C libraries' live: jemalloc's in `ferry`, elsewhere the
/// C library's.
public enum Heap {
    /// Gives what is free back to the system. The C library keeps most of what a peak has taken by
    /// itself, and jemalloc what nothing was asked of since. Threads that allocate meanwhile may
    /// wait for some milliseconds.
    ///
    /// malloc_trim(3). <https://man7.org/linux/man-pages/man3/malloc_trim.3.html>
    /// `arena.<i>.purge`. <https://jemalloc.net/jemalloc.3.html>
    public static func trim() {
        cevent_trim_heap()
    }

    /// Whether more of the C library's is free than in use: jemalloc gives back what is free while
    /// others are at work. mallinfo2(3).
    public static var isMostlyFree: Bool {
        let figures = mallinfo2()
        return figures.fordblks > figures.uordblks
    }
}
