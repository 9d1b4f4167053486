internal import Glibc
internal import Synchronization

/// A terminal that does not show what is typed, until `end`.
///
/// Ctrl-Z and Ctrl-\ do nothing meanwhile: both would leave a terminal behind that stays silent.
/// Ctrl-C goes on to work; a process that leaves at once calls `endFromSignal`.
final class SilentTerminal {
    private struct Saved {
        var descriptor: Int32
        var settings: termios
    }

    private let saved: Saved

    /// Nil, and nothing is changed, where the descriptor is no terminal. One that `readsKeys` gives
    /// them one by one, without waiting for the end of a line.
    init?(_ descriptor: Int32, readsKeys: Bool = false) {
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else { return nil }
        saved = Saved(descriptor: descriptor, settings: settings)
        // Never freed: a signal handler may read it at any time. A password is not asked for often.
        let copy = UnsafeMutablePointer<Saved>.allocate(capacity: 1)
        copy.initialize(to: saved)
        silenced.store(UInt(bitPattern: copy), ordering: .releasing)
        settings.c_lflag &= ~tcflag_t(readsKeys ? ECHO | ICANON : ECHO)
        withUnsafeMutableBytes(of: &settings.c_cc) { characters in
            // _POSIX_VDISABLE of Linux.
            for key in [VQUIT, VSUSP] { characters[Int(key)] = 0 }
        }
        tcsetattr(descriptor, TCSADRAIN, &settings)
    }

    /// Makes the terminal what it was before.
    func end() {
        var settings = saved.settings
        tcsetattr(saved.descriptor, TCSADRAIN, &settings)
        silenced.store(0, ordering: .releasing)
    }

    /// Has to run once before a handler may call `endFromSignal`.
    static func prepareForSignals() {
        _ = silenced.load(ordering: .relaxed)
    }

    /// The same for the terminal that is silent now, if there is one, between any two instructions:
    /// it loads a word and calls tcsetattr, which POSIX allows in a handler.
    static func endFromSignal() {
        let address = silenced.load(ordering: .acquiring)
        guard let saved = UnsafePointer<Saved>(bitPattern: address) else { return }
        withUnsafePointer(to: saved.pointee.settings) { settings in
            _ = tcsetattr(saved.pointee.descriptor, TCSANOW, settings)
        }
    }
}

/// The address of a `SilentTerminal.Saved`, 0 for none.
private let silenced = Atomic<UInt>(0)
