import Fuse
import Glibc
import RankFS
import Rankings
import Sourcing

/// Ways from works of one source to the same works in mounts of others.
enum Bridges {
    /// The work that a web page is about, in a mount of its source that this user has.
    ///
    /// Reads what the kernel says of mounts and asks none of them: their daemons may be busy with a question of ours.
    ///
    /// - Parameters:
    ///   - webPage: The address of the page.
    ///   - source: What the asking mount shows.
    ///   - table: What is mounted.
    ///   - user: Whose mounts count, as `user_id=` of fuse(4) names who mounted.
    /// - Returns: Nil for a page that is no work's, and where its source is not mounted.
    static func bridge(
        to webPage: String, from source: SourceName, _ table: MountTable, user: UInt32 = getuid()
    ) -> Bridge? {
        for plugIn in SourceRegistry.all where plugIn.description.name != source.description.name {
            guard let work = plugIn.description.work(webPage) else { continue }
            let mount = table.mounts.last { mount in
                mount.isOwn && mount.superOptions.contains("user_id=\(user)")
                    && SourceName(rawValue: mount.source)?.description.name == plugIn.description.name
            }
            guard let mount else { continue }
            let folder = String(decoding: mount.path, as: UTF8.self)
            return Bridge(name: plugIn.description.name, target: "\(folder)/\(TreePath.work(work).text)")
        }
        return nil
    }
}
