public import Engine
public import Loop

/// The watch is the adapter behind the engine's `Connectivity` port (S-26).
extension NetworkWatch: Connectivity {}
