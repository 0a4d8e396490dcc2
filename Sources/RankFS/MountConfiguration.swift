package import Rankings
import System

/// The parameters of a mount.
package struct MountConfiguration: Sendable {
    package var user: UInt32
    package var group: UInt32
    /// The permission bits removed from every node, as in umask(2).
    package var mask: UInt32 = 0
    /// Whether pictures that are read are noted in `recent/`.
    package var notesRecent = true
    /// Whether directories list withheld entries.
    package var listsWithheld = false
    /// Whether users besides the owner and root can access the mount; the owner's nodes are then hidden from them.
    package var keepsOwners = false
    /// Whether no request may leave, per the option `offline`: directories then list only entries that open without a request.
    package var isOffline = false
    /// Returns the text of `/.rankfs/status.json`, made for each reader: for the owner, or for other users.
    package var status: @Sendable (_ toOwner: Bool) -> [UInt8] = { _ in [] }
    /// Returns the text of `/.rankfs/metrics`, made for each reader.
    package var metrics: @Sendable () -> [UInt8] = { [] }
    /// Returns the link to the same work in another mount, by the web page that the work comes from; nil if there is none now.
    ///
    /// Must not wait.
    package var bridge: (@Sendable (_ webPage: String) -> Bridge?)?
    /// Whether the pictures of a listing concern its reader alone, and are not shared with other machines.
    package var isPrivate: @Sendable (ListingKey) -> Bool = { _ in false }
    /// The shared tier; nil if nothing is shared.
    package var sharedTier: SharedTier?
    /// The whole text of `/.rankfs/version`, including its newline.
    package var version = ""
    /// Called once for each failing request, with a sentence that names cause and remedy.
    package var report: @Sendable (String) -> Void = { _ in }
    /// Called with a sentence about the trouble that a service reported in answer to a request.
    package var troubled: @Sendable (String) -> Void = { _ in }
    /// Makes the kernel drop its attributes and pages of an inode: `Session.invalidate(inode:)`; never called on a worker thread.
    package var invalidate: @Sendable (UInt64) -> Void = { _ in }
    /// Makes the kernel drop a name of a directory: `Session.invalidate(name:in:)`; never called on a worker's or a task's thread.
    package var invalidateName: @Sendable (_ name: String, _ directory: UInt64) -> Void = { _, _ in }
    /// Makes the kernel drop its attributes of an inode only: `Session.invalidateAttributes(inode:)`.
    package var invalidateAttributes: @Sendable (UInt64) -> Void = { _ in }
    /// Makes the thumbnails of directories that a desktop shows; nil for none.
    package var thumbnails: ThumbnailSeeder?
    /// The wall clock, in Unix seconds.
    package var now: @Sendable () -> Int64
    /// The monotonic clock for remembered visits of programs.
    package var monotonicNow: @Sendable () -> ContinuousClock.Instant = { UptimeClock.now }
    /// The name of the mount in side bars.
    package var volumeName = "Rankings"
    /// The queries about calling programs.
    var processes = Processes.system
    /// Returns free memory to the system.
    package var giveMemoryBack: @Sendable () -> Void = {}
    /// Runs `work` after `seconds`.
    package var later = Reporter.later

    package init(user: UInt32, group: UInt32, now: @escaping @Sendable () -> Int64) {
        (self.user, self.group, self.now) = (user, group, now)
    }
}

/// The removal of objects from the shared tier; each function returns the number of objects removed.
///
/// Of a listing the documents are removed, not its pictures.
package typealias SharedTier = (
    forgetPictures: @Sendable ([PictureID]) async throws(Failure) -> Int,
    forgetListing: @Sendable (ListingKey) async throws(Failure) -> Int
)

// MARK: - Files and links from outside

/// A file that is found by name and never listed in the root, so that copies of the tree hold pictures only.
package struct HelperFile: Sendable {
    /// A path in the root or in `.rankfs`.
    package let path: TreePath
    /// Whether its text is made for each reader.
    var isLive = false
    /// Returns its text, for the owner of the mount or for other users.
    let text: @Sendable (_ toOwner: Bool) -> [UInt8]
}

/// A link from a work to the same work in another mount: its name in the work's directory, which is the name of the other source, and
/// the absolute path of its target.
package typealias Bridge = (name: String, target: String)
