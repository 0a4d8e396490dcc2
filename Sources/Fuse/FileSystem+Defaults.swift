extension FileSystem {
    package func forget(_ inode: UInt64, lookups: UInt64) {}
    package func lookup(_ request: LookupRequest, reply: EntryReply) {}
    package func attributes(_ request: InodeRequest, reply: AttributesReply) {}
    package func readLink(_ request: InodeRequest, reply: LinkReply) {}
    package func open(_ request: OpenRequest, reply: OpenReply) {}
    package func read(_ request: ReadRequest, reply: DataReply) {}
    package func release(_ request: ReleaseRequest) {}
    package func openDirectory(_ request: OpenRequest, reply: OpenReply) {}
    package func readDirectory(_ request: ReadRequest, reply: DirectoryReply) {}
    package func releaseDirectory(_ request: ReleaseRequest) {}
    package func statistics(_ request: InodeRequest, reply: StatisticsReply) {}
    package func getExtendedAttribute(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply) {}
    package func listExtendedAttributes(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply) {}
    package func ioctl(_ request: IoctlRequest, reply: IoctlReply) {}
}
