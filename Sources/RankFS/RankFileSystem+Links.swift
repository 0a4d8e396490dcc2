import Catalog
package import Fuse
import Rankings
import Synchronization

/// Where symbolic links lead.
///
/// The length that `stat` tells is that of what `readlink` gives next: programs that make room by it, NFS servers among
/// them, refuse a link otherwise.
extension RankFileSystem {
    package func readLink(_ request: InodeRequest, reply: LinkReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        guard case .link(let link) = node else { return refuse(reply, .notALink, subject: node.path) }
        if isKept(node), !isOwner(request.caller) { return refuse(reply, .ownersOnly, subject: node.path) }
        switch link {
        case .random(nil): later(reply, subject: { link.path }) { reply.target(await self.randomTarget(for: nil)) }
        case .bookmarks where source.signIn.user == nil:
            refuse(reply, .catalog(.needsSignIn), subject: link.path)
        case .recent(let picture):
            noteWay(to: current(picture), by: request.caller)
            reply.target(fixedTarget(of: link))
        case .dated(let mode, let day):
            noteWay(to: mode, day)
            reply.target(fixedTarget(of: link))
        case .random, .followed, .named, .bookmarks: reply.target(fixedTarget(of: link))
        }
    }

    /// What a link in `recent/` is now: it keeps its name when the picture is read once more.
    func current(_ picture: RecentPicture) -> RecentPicture {
        catalog.recents.pictures.first { $0.name == picture.name } ?? picture
    }

    private func noteWay(to picture: RecentPicture, by caller: Caller) {
        // The kernel follows a link for the program that opens it, which so reads the link just before it opens the picture.
        let process = configuration.processes.program(caller.process)?.process ?? caller.process
        recentWays.withLock { $0.note(picture.path, process, now: moment, prolongs: true) }
    }

    /// Whether a caller opens a picture because it looks through `recent/`.
    func cameByRecent(to path: String, _ caller: Caller) -> Bool {
        guard recentWays.withLock({ $0.isAnybody(at: path, now: moment) }) else { return false }
        let process = configuration.processes.program(caller.process)?.process ?? caller.process
        return recentWays.withLock { $0.holds(path, process, now: moment) }
    }

    /// The length in bytes that `stat` shows; nil if it has to be found out.
    func knownLength(of link: Link) -> Int? {
        switch link {
        case .random(nil): nil
        case .random, .recent, .followed, .named, .bookmarks, .dated: fixedTarget(of: link).utf8.count
        }
    }

    /// The target of a link that leads to the same place for as long as it is there; empty for the others.
    private func fixedTarget(of link: Link) -> String {
        switch link {
        case .random(let target): target ?? ""
        case .recent(let picture): "../\(current(picture).path)"
        case .followed(let author): "../\(TreePath.author(author.id).text)"
        case .named(_, let author): String(author.rawValue)
        case .bookmarks: source.signIn.user.map { ListingKey.bookmarks($0).path.text } ?? ""
        case .dated(let mode, let day): "../../../../\(TreePath.day(mode, day).text)"
        }
    }
}
