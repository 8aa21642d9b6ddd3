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
    .testTarget(
      name: "CoreOperationsTests",
      dependencies: ["CoreOperations", "AdvancedOperationsTesting"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "AdvancedOperationsTests",
      dependencies: ["AdvancedOperations", "AdvancedOperationsTesting"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "AdvancedOperationsTestingTests",
      dependencies: ["AdvancedOperationsTesting"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "DocumentationExamplesTests",
      dependencies: ["AdvancedOperations", "AdvancedOperationsTesting", "CoreOperations"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "SeedListingTests",
      dependencies: ["CoreOperations"],
      swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    .testTarget(
      name: "StressTests",
      dependencies: ["AdvancedOperations", "AdvancedOperationsTesting"],
      swiftSettings: settings
    ),
  ]
)
