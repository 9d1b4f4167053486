internal import CEvent

/// The C library's heap, where Swift's objects and the C libraries' live.
public enum Heap {
    /// Gives what is free back to the system: by itself the C library keeps most of what a peak has
    /// taken. Threads that allocate meanwhile may wait for some milliseconds.
    ///
    /// malloc_trim(3). <https://man7.org/linux/man-pages/man3/malloc_trim.3.html>
    public static func trim() {
        malloc_trim(0)
    }

    /// Whether more of it is free than in use. mallinfo2(3).
    public static var isMostlyFree: Bool {
        let figures = mallinfo2()
        return figures.fordblks > figures.uordblks
    }
}
