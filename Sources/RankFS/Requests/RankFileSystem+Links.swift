import Catalog
package import Fuse
import Rankings

extension RankFileSystem {
    package func readLink(_ request: InodeRequest, reply: LinkReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        guard case .link(let link) = node else { return refuse(reply, .notALink, subject: node.path.text) }
        if tree.isKept(node), !tree.isOwner(request.caller) {
            return refuse(reply, .ownersOnly, subject: node.path.text)
        }
        if case .dated(let mode, let day) = link { tree.desktops.noteWay(to: mode, day) }
        reply.target(link.target)
    }
}
