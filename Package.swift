// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A target of ours: one folder under Sources, with the project's language settings.
func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The tests of a target: one folder under Tests.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The commit that is built, as the Makefile tells it: a tarball knows of none.
let commit = (Context.environment["FERRY_COMMIT"] ?? "")
    .filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let structuredFields = Target.Dependency.product(
    name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

let package = Package(
    name: "ferry",
    products: [.executable(name: "ferry", targets: ["ferry"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", exact: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ],
    targets: [
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CEvent", pkgConfig: "libevent", providers: [.apt(["libevent-dev"])]),
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        // No pkgConfig: its flags are of a kind that SwiftPM warns about, and Debian needs none.
        .systemLibrary(name: "CGSSAPI", providers: [.apt(["libkrb5-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),

        library("Diagnostics", ["JSON", "Syntax", logging]),
        library("Metrics"),
        library("Syntax"),
        library("Semantics", ["Syntax"]),
        library("JSON", ["Syntax"]),
        library("Contract", ["Semantics", "JSON", "Syntax"]),
        library("Loop", ["Metrics", "CEvent"]),
        library("HTTP", ["Syntax", "Loop", "Diagnostics", "Metrics", "CEvent"]),
        library(
            "Engine",
            [
                "Semantics", "Contract", "Loop", "Diagnostics", "Metrics", "JSON", "Syntax",
                "CLinux",
                deque,
                heap,
            ]),
        library("Decoding", ["Semantics", "CZlib", "CBrotli", "CZstd"]),
        library(
            "Curl",
            ["Engine", "Semantics", "Syntax", "Loop", "Decoding", "CCurl", "COpenSSL", "CGSSAPI"]),
        library("PSL", ["Engine", "CPSL"]),
        library("SQLiteStore", ["Engine", "Semantics", grdb, grdbSQLite]),
        library("Sealing", ["Engine", "Semantics", "Syntax", "COpenSSL"]),
        .target(
            name: "CAssets", exclude: ["page"],
            cSettings: commit.isEmpty ? [] : [.define("FERRY_COMMIT", to: "\"\(commit)\"")]),
        .target(name: "CEmptyICU"),
        library(
            "REST",
            [
                "HTTP", "Engine", "Contract", "Semantics", "JSON", "Syntax", "Loop", "Diagnostics",
                "Metrics", "CAssets", structuredFields, yams,
            ]),
        library("Client", ["JSON", "Syntax", "CCurl", structuredFields]),
        .executableTarget(
            name: "ferry",
            dependencies: [
                "REST", "HTTP", "Engine", "Semantics", "Curl", "PSL", "SQLiteStore", "Sealing",
                "Client", "Loop", "Diagnostics", "CAssets", "CEmptyICU", argumentParser,
            ],
            swiftSettings: strict),

        .target(
            name: "TestSupport", dependencies: ["Engine", "Semantics", "Loop"],
            path: "Tests/TestSupport", swiftSettings: strict),
        tests("MetricsTests", ["Metrics", "TestSupport"]),
        tests("DiagnosticsTests", ["Diagnostics", "JSON", "TestSupport"]),
        tests("SyntaxTests", ["Syntax", "TestSupport"]),
        tests("JSONTests", ["JSON", "TestSupport"]),
        tests("SemanticsTests", ["Semantics", "Syntax", "Sealing", "TestSupport"]),
        tests("DecodingTests", ["Decoding", "Semantics", "TestSupport"]),
        tests("HTTPTests", ["HTTP", "Loop", "Metrics", "TestSupport"]),
        tests("EngineTests", ["Engine", "Semantics", "Syntax", "Loop", "Metrics", "TestSupport"]),
        tests("CurlTests", ["Curl", "Engine", "Semantics", "Loop", "TestSupport"]),
        tests("PSLTests", ["PSL", "Engine"]),
        tests(
            "StoreTests",
            [
                "SQLiteStore", "Sealing", "Engine", "Semantics", "Syntax", "Loop", "TestSupport",
                grdb,
            ]),
        tests("ClientTests", ["Client", "JSON", "TestSupport"]),
        tests(
            "GatewayTests",
            [
                "ferry", "REST", "HTTP", "Engine", "Contract", "Semantics", "Curl", "Sealing",
                "SQLiteStore",
                "Loop",
                "JSON", "TestSupport", yams, grdb,
            ]),
    ],
    swiftLanguageModes: [.v6]
)
