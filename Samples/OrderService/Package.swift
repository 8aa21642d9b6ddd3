// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let operations: Target.Dependency =
  .product(name: "AdvancedOperations", package: "AdvancedOperations")
let visualization: Target.Dependency =
  .product(name: "AdvancedOperationsVisualization", package: "AdvancedOperations")
let testingKit: Target.Dependency =
  .product(name: "AdvancedOperationsTesting", package: "AdvancedOperations")
let arguments: Target.Dependency =
  .product(name: "ArgumentParser", package: "swift-argument-parser")
let client: Target.Dependency =
  .product(name: "AsyncHTTPClient", package: "async-http-client")
let hummingbird: Target.Dependency =
  .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdTesting: Target.Dependency =
  .product(name: "HummingbirdTesting", package: "hummingbird")
let httpTypes: Target.Dependency =
  .product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle: Target.Dependency =
  .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency =
  .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency =
  .product(name: "Metrics", package: "swift-metrics")
let mustache: Target.Dependency =
  .product(name: "Mustache", package: "swift-mustache")
let nio: Target.Dependency =
  .product(name: "NIOCore", package: "swift-nio")
let nioHTTP: Target.Dependency =
  .product(name: "NIOHTTP1", package: "swift-nio")
let sqlite: Target.Dependency =
  .product(name: "GRDB", package: "GRDB.swift")
let signals: Target.Dependency =
  .product(name: "UnixSignals", package: "swift-service-lifecycle")
let tracing: Target.Dependency =
  .product(name: "Tracing", package: "swift-distributed-tracing")

let package = Package(
  name: "OrderService",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .executable(name: "orders", targets: ["orders"]),
    .executable(name: "payment-provider", targets: ["payment-provider"]),
  ],
  traits: [
    .trait(
      name: "PostgreSQL",
      description: "Several instances with one PostgreSQL database; needs libpq."
    )
  ],
  dependencies: [
    .package(name: "AdvancedOperations", path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
    .package(
      url: "https://github.com/apple/swift-distributed-tracing",
      .upToNextMinor(from: "1.7.3")
    ),
    .package(url: "https://github.com/apple/swift-http-types", .upToNextMajor(from: "1.5.1")),
    .package(url: "https://github.com/apple/swift-log", .upToNextMajor(from: "1.16.2")),
    .package(url: "https://github.com/apple/swift-metrics", .upToNextMinor(from: "2.13.0")),
    .package(url: "https://github.com/apple/swift-nio", .upToNextMajor(from: "2.101.2")),
    .package(url: "https://github.com/groue/GRDB.swift", .upToNextMinor(from: "7.10.0")),
    .package(
      url: "https://github.com/hummingbird-project/hummingbird",
      .upToNextMinor(from: "2.28.1")
    ),
    .package(
      url: "https://github.com/hummingbird-project/swift-mustache",
      .upToNextMinor(from: "2.1.1")
    ),
    .package(
      url: "https://github.com/swift-server/async-http-client",
      .upToNextMinor(from: "1.37.0")
    ),
    .package(
      url: "https://github.com/swift-server/swift-service-lifecycle",
      .upToNextMinor(from: "2.13.0")
    ),
  ],
  targets: [
    .target(
      name: "ServiceSupport",
      dependencies: [httpTypes],
      path: "Support",
      swiftSettings: settings
    ),
    .testTarget(
      name: "ServiceSupportTests",
      dependencies: ["ServiceSupport"],
      path: "Tests/Support",
      swiftSettings: settings
    ),
    .target(
      name: "HTTPRules",
      dependencies: ["ServiceSupport", httpTypes, hummingbird, nio, nioHTTP],
      path: "Rules",
      swiftSettings: settings
    ),
    .testTarget(
      name: "HTTPRulesTests",
      dependencies: ["HTTPRules", "ServiceSupport", httpTypes],
      path: "Tests/Rules",
      swiftSettings: settings
    ),
    .target(name: "TestEffort", path: "Tests/Effort", swiftSettings: settings),
    .target(
      name: "OrderWorkflow",
      dependencies: ["ServiceSupport", operations, visualization],
      path: "Ordering",
      swiftSettings: settings
    ),
    .testTarget(
      name: "OrderWorkflowTests",
      dependencies: [
        "OrderWorkflow", "ServiceSupport", "TestEffort", operations, testingKit, visualization,
      ],
      path: "Tests/Ordering",
      swiftSettings: settings
    ),
    .systemLibrary(name: "CPostgres", path: "CPostgres", pkgConfig: "libpq"),
    .target(
      name: "OrderStorage",
      dependencies: [
        "OrderWorkflow",
        operations,
        sqlite,
        .target(name: "CPostgres", condition: .when(traits: ["PostgreSQL"])),
      ],
      path: "Storage",
      swiftSettings: settings
    ),
    .testTarget(
      name: "OrderStorageTests",
      dependencies: ["OrderStorage", "OrderWorkflow", operations, testingKit, sqlite],
      path: "Tests/Storage",
      swiftSettings: settings
    ),
    .target(
      name: "PaymentProviderServer",
      dependencies: [
        "HTTPRules", "ServiceSupport", httpTypes, hummingbird,
        .product(name: "HummingbirdCore", package: "hummingbird"), logging, nio,
      ],
      path: "Provider",
      swiftSettings: settings
    ),
    .testTarget(
      name: "PaymentProviderServerTests",
      dependencies: [
        "PaymentProviderServer", "ServiceSupport", httpTypes, hummingbird, hummingbirdTesting, nio,
      ],
      path: "Tests/Provider",
      swiftSettings: settings
    ),
    .target(
      name: "OrderHTTP",
      dependencies: [
        "HTTPRules",
        "OrderWorkflow",
        "ServiceSupport",
        operations,
        visualization,
        client,
        httpTypes,
        hummingbird,
        .product(name: "HummingbirdCore", package: "hummingbird"),
        lifecycle,
        logging,
        metrics,
        mustache,
        nio,
        nioHTTP,
        signals,
        tracing,
      ],
      path: "Service",
      resources: [.copy("Page")],
      swiftSettings: settings
    ),
    .testTarget(
      name: "OrderHTTPTests",
      dependencies: [
        "HTTPRules",
        "OrderHTTP",
        "OrderStorage",
        "OrderWorkflow",
        "PaymentProviderServer",
        "ServiceSupport",
        operations,
        testingKit,
        visualization,
        httpTypes,
        hummingbird,
        hummingbirdTesting,
        logging,
        metrics,
        nio,
        sqlite,
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        tracing,
      ],
      path: "Tests/Service",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "orders",
      dependencies: [
        "OrderHTTP",
        "OrderStorage",
        "OrderWorkflow",
        "ServiceSupport",
        operations,
        arguments,
        client,
        hummingbird,
        .product(name: "HummingbirdCore", package: "hummingbird"),
        lifecycle,
        logging,
        metrics,
        nio,
        nioHTTP,
        tracing,
      ],
      path: "Program/Orders",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "payment-provider",
      dependencies: [
        "PaymentProviderServer", "ServiceSupport", arguments, hummingbird, lifecycle, nio, signals,
      ],
      path: "Program/PaymentProvider",
      swiftSettings: settings
    ),
    .testTarget(
      name: "OrderProgramTests",
      dependencies: [
        "OrderStorage",
        "OrderWorkflow",
        "ServiceSupport",
        "orders",
        "payment-provider",
        client,
        nio,
        nioHTTP,
      ],
      path: "Tests/Program",
      swiftSettings: settings
    ),
  ]
)
