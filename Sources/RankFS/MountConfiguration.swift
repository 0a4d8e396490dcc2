import Dispatch
import Glibc
package import Rankings
package import Thumbnails

/// What a mount is made with.
package struct MountConfiguration: Sendable {
    package var user: UInt32
    package var group: UInt32
    /// Permissions that nothing has, as in umask(2).
    package var mask: UInt32 = 0
    /// Whether what is read is noted in `recent/`.
    package var notesRecent = true
    /// Whether directories list what the service withholds.
    package var listsWithheld = false
    /// Whether users besides the owner and root look into the mount, who are not to see what is the owner's.
    package var keepsOwners = false
    /// Whether no request leaves, as the option says: directories then list what opens without one.
    package var isOffline = false
    /// The text of `/.rankfs/status.json`, made anew for each reader: the owner, or somebody else.
    package var status: @Sendable (_ toOwner: Bool) -> [UInt8]
    /// The text of `/.rankfs/metrics`, likewise.
    package var metrics: @Sendable () -> [UInt8]
    /// The same work in another mount, for the web page that it comes from; nil if there is none now.
    ///
    /// Must not wait.
    package var bridge: (@Sendable (_ webPage: String) -> Bridge?)?
    /// Whether a listing's pictures concern its reader alone, and are not shared with other machines.
    package var isPrivate: @Sendable (ListingKey) -> Bool = { _ in false }
    /// Further files of `/.rankfs` or the root that only the program can write.
    package var helpers: [HelperFile] = []
    /// The whole text of `/.rankfs/version`, its newline included.
    package var version: String
    /// Told once for each failing request: a sentence with cause and remedy.
    package var report: @Sendable (String) -> Void
    /// Told, as a sentence, what a service in trouble answered to somebody's request.
    package var troubled: @Sendable (String) -> Void = { _ in }
    /// Told, on no worker's time, when the kernel should forget what it knows of an inode: `Session.invalidate(inode:)`.
    package var invalidate: @Sendable (UInt64) -> Void
    /// Likewise, of its attributes alone: `Session.invalidateAttributes(inode:)`.
    package var invalidateAttributes: @Sendable (UInt64) -> Void
    /// Makes the thumbnails of directories that a desktop looks at; nil if there shall be none.
    package var thumbnails: ThumbnailSeeder?
    /// Wall clock in Unix seconds.
    package var now: @Sendable () -> Int64
    /// The monotonic clock by which it is remembered who came when.
    package var monotonicNow: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// What side bars call the mount.
    package var volumeName = "Rankings"
    /// What is asked of the programs that call.
    var processes = Processes.system
    /// Gives memory that is free back to the system.
    package var giveMemoryBack: @Sendable () -> Void = {}
    /// Does something after so many seconds.
    package var later: @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void = {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int($0)), execute: $1)
    }

    package init(
        user: UInt32, group: UInt32, status: @escaping @Sendable (_ toOwner: Bool) -> [UInt8],
        metrics: @escaping @Sendable () -> [UInt8] = { [] }, version: String,
        report: @escaping @Sendable (String) -> Void,
        invalidate: @escaping @Sendable (UInt64) -> Void = { _ in },
        now: @escaping @Sendable () -> Int64 = MountConfiguration.wallClock
    ) {
        self.user = user
        self.group = group
        self.status = status
        self.metrics = metrics
        self.version = version
        self.report = report
        self.invalidate = invalidate
        invalidateAttributes = invalidate
        self.now = now
    }

    /// time(2).
    package static let wallClock: @Sendable () -> Int64 = { Int64(time(nil)) }
}
