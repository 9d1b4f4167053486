public import ArgumentParser
public import Client

/// By its name; help and completion show all of them.
extension CachePolicy: ExpressibleByArgument {}
