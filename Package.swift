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

/// The tests of `AdvancedOperations` are several modules, because each of the compiler's jobs expands the
/// macros of its whole module.
func advancedTests(_ name: String) -> Target {
  .testTarget(
    name: name,
    dependencies: [
      "AdvancedOperations", "AdvancedOperationsTesting", "AdvancedOperationsVisualization",
      "AdvancedTestSupport", "TestSupport",
    ],
    swiftSettings: settings
  )
}

/// An app of one kind, which sees only public declarations.
///
/// Links make `Tests/Clients/Shared` part of each.
func client(
  _ name: String,
  _ settings: [SwiftSetting],
  dependencies: [Target.Dependency] = ["AdvancedOperations", "AdvancedOperationsVisualization"]
) -> Target {
  .testTarget(
    name: name,
    dependencies: dependencies,
    path: "Tests/Clients/\(name)",
    packageAccess: false,
    swiftSettings: settings
  )
}

let package = Package(
  name: "AdvancedOperations",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "CoreOperations", targets: ["CoreOperations"]),
    .library(name: "AdvancedOperations", targets: ["AdvancedOperations"]),
    .library(name: "AdvancedOperationsVisualization", targets: ["AdvancedOperationsVisualization"]),
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
      name: "AdvancedOperationsVisualization",
      dependencies: ["AdvancedOperations", "CoreOperations"],
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
    .target(
      name: "AdvancedTestSupport",
      dependencies: ["AdvancedOperations", "AdvancedOperationsTesting", "TestSupport"],
      path: "Tests/AdvancedTestSupport",
      swiftSettings: settings
    ),
  ]
)

let stressTests = advancedTests("StressTests")

let ordinaryTests = [
  Target.testTarget(
    name: "CoreOperationsTests",
    dependencies: ["CoreOperations", "AdvancedOperationsTesting", "TestSupport"],
    swiftSettings: settings
  ),
  advancedTests("AdvancedOperationsTests"),
  advancedTests("AdvancedOperationsTestingTests"),
  advancedTests("ClaimTests"),
  advancedTests("ConditionTests"),
  advancedTests("DiagnosisTests"),
  advancedTests("GroupTests"),
  advancedTests("ResultTests"),
  advancedTests("VisualizationTests"),
]

// Campaigns, apps of several kinds, and the examples of books and documentation.
let campaigns = [
  advancedTests("ProofTests"),
  .testTarget(
    name: "SeedListingTests",
    dependencies: ["CoreOperations", "TestSupport"],
    swiftSettings: [.swiftLanguageMode(.v5)]
  ),
  .testTarget(
    name: "DocumentationExamplesTests",
    dependencies: [
      "AdvancedOperations", "AdvancedOperationsTesting", "AdvancedOperationsVisualization",
      "CoreOperations",
    ],
    swiftSettings: settings
  ),
  client(
    "StrictClientTests",
    settings,
    dependencies: [
      "AdvancedOperations", "AdvancedOperationsTesting", "AdvancedOperationsVisualization",
    ]
  ),
  client("Swift5ClientTests", [.swiftLanguageMode(.v5)]),
  client("FoundationClientTests", [.define("IMPORTS_FOUNDATION")]),
  client("OneImportClientTests", [.enableUpcomingFeature("MemberImportVisibility")]),
  client("MainActorClientTests", [.defaultIsolation(MainActor.self)]),
]

/// The tests of traps, for a release build: the library is optimized, and the tests compile faster without.
let releaseTests = ordinaryTests.filter {
  ["CoreOperationsTests", "AdvancedOperationsTests"].contains($0.name)
}

// The environment chooses the tests: the ordinary ones unless it says otherwise.
switch Context.environment["OPERATIONS_TESTS"] {
case "release":
  for test in releaseTests { test.swiftSettings?.append(.unsafeFlags(["-Onone"])) }
  package.targets += releaseTests
case "full": package.targets += ordinaryTests + campaigns + [stressTests]
case "stress": package.targets += [stressTests]
default: package.targets += ordinaryTests
}
