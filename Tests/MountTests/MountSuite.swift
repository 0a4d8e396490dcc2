import Foundation
import TestSupport
import Testing

/// Real mounts of the built program, one after the other: each has its own origin, cache and directory.
@Suite(
    .serialized, .timeLimit(.minutes(ModelAmount.isLong || Sweep.isLong ? 240 : 6)),
    .enabled(if: FileManager.default.isWritableFile(atPath: "/dev/fuse"), "needs /dev/fuse"))
struct MountSuite {}

/// Runs a test's body on a thread, with a workplace that is cleaned up whatever happens.
func withWorkplace(_ body: @escaping @Sendable (Workplace) throws -> Void) async throws {
    let workplace = try Workplace()
    do {
        try await onThread { try body(workplace) }
        try await onThread { workplace.close() }
    } catch {
        let logs = workplace.children.map(\.errorText).joined(separator: "\n").suffix(4000)
        try await onThread { workplace.close() }
        throw Failure("\(error)\nwhat the programs said:\n\(logs)")
    }
}

/// Runs a test's body with a service's origin.
func withOrigin(
    _ service: Service = .pixiv, _ options: [String] = [], wire: Wire = .tls,
    _ body: @escaping @Sendable (Workplace, OriginProcess) throws -> Void
) async throws {
    try await withWorkplace { workplace in
        try body(workplace, try OriginProcess(workplace, options, wire: wire, service: service))
    }
}

/// Runs a test's body with a service's origin and a mount of it.
func withMount(
    _ service: Service = .pixiv, origin originOptions: [String] = [], wire: Wire = .tls, signedIn user: Int? = nil,
    options: [String] = [], _ body: @escaping @Sendable (Workplace, OriginProcess, Mount) throws -> Void
) async throws {
    try await withOrigin(service, originOptions, wire: wire) { workplace, origin in
        let account = try user.map { try workplace.signedIn($0) } ?? []
        try body(workplace, origin, try Mount(workplace, of: origin, options: account + options))
    }
}
