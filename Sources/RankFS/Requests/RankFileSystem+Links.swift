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
        guard let target = link.target(in: tree) else {
            return later(reply, subject: { link.path.text }) { reply.target(await self.tree.randomTarget(for: nil)) }
        }
        guard !target.isEmpty else { return refuse(reply, .catalog(.needsSignIn), subject: link.path.text) }
        link.noteRead(in: tree, by: request.caller)
        reply.target(target)
    }
}
