// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .strictMemorySafety(),
]

let package = Package(
  name: "AdvancedOperations",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CoreOperations", targets: ["CoreOperations"]),
    .library(name: "AdvancedOperations", targets: ["AdvancedOperations"]),
    .library(name: "AdvancedOperationsTesting", targets: ["AdvancedOperationsTesting"]),
  ],
  targets: [
    .target(name: "CoreOperations", swiftSettings: settings),
    .target(
      name: "AdvancedOperations",
      dependencies: ["CoreOperations"],
      swiftSettings: settings
    ),
    .target(
      name: "AdvancedOperationsTesting",
      dependencies: ["AdvancedOperations", "CoreOperations"],
      swiftSettings: settings
    ),
    .target(
      name: "TestSupport",
      dependencies: ["CoreOperations"],
      path: "Tests/TestSupport",
      swiftSettings: settings
    ),
    .testTarget(
      name: "CoreOperationsTests",
      dependencies: ["CoreOperations", "AdvancedOperationsTesting", "TestSupport"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "AdvancedOperationsTests",
      dependencies: ["AdvancedOperations", "AdvancedOperationsTesting", "TestSupport"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "AdvancedOperationsTestingTests",
      dependencies: ["AdvancedOperationsTesting", "TestSupport"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "DocumentationExamplesTests",
      dependencies: ["AdvancedOperations", "AdvancedOperationsTesting", "CoreOperations"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "SeedListingTests",
      dependencies: ["CoreOperations", "TestSupport"],
      swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    .testTarget(
      name: "StressTests",
      dependencies: ["AdvancedOperations", "AdvancedOperationsTesting", "TestSupport"],
      swiftSettings: settings
    ),
    // Apps of several kinds, which see what is public and nothing else. Tests/Clients/Shared is part of
    // each, by way of links.
    .testTarget(
      name: "StrictClientTests",
      dependencies: ["AdvancedOperations", "AdvancedOperationsTesting"],
      path: "Tests/Clients/StrictClientTests",
      packageAccess: false,
      swiftSettings: settings
    ),
    .testTarget(
      name: "Swift5ClientTests",
      dependencies: ["AdvancedOperations"],
      path: "Tests/Clients/Swift5ClientTests",
      packageAccess: false,
      swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    .testTarget(
      name: "FoundationClientTests",
      dependencies: ["AdvancedOperations"],
      path: "Tests/Clients/FoundationClientTests",
      packageAccess: false,
      swiftSettings: [.define("IMPORTS_FOUNDATION")]
    ),
    .testTarget(
      name: "OneImportClientTests",
      dependencies: ["AdvancedOperations"],
      path: "Tests/Clients/OneImportClientTests",
      packageAccess: false,
      swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
    ),
    .testTarget(
      name: "MainActorClientTests",
      dependencies: ["AdvancedOperations"],
      path: "Tests/Clients/MainActorClientTests",
      packageAccess: false,
      swiftSettings: [.defaultIsolation(MainActor.self)]
    ),
  ]
)
