// Asks with the requests of Powerful Pixiv Downloader (github.com/xuejianxianzun/PixivBatchDownloader) and notes the answers in a
// catch (see visitor.py).
//
// Bundled by `run` with src/ts/API.ts of a checkout of that extension; what its pages do with the answers is repeated here, as they
// need a browser. usage: powerful CATCH WHAT..., where WHAT is series:ID, related:ID or author-tag:ID:TAG; with the cookie of a
// session in SESSION also feed, bookmarks:REST:TAG, where REST is show or hide and TAG may be empty.

import fs from "node:fs"

const [catchFolder, ...wanted] = process.argv.slice(2)
const session = process.env.SESSION

// What the extension finds in a browser.
globalThis.window = Object.assign(new EventTarget(), { setTimeout, clearTimeout })
globalThis.document = new EventTarget()
globalThis.navigator = { userAgent: "Firefox" }
globalThis.Worker = EventTarget
const plainFetch = globalThis.fetch
globalThis.fetch = (url, init = {}) =>
    plainFetch(url, { ...init, headers: { ...init.headers, ...(session ? { Cookie: `PHPSESSID=${session}` } : {}) } })

const { API } = await import("powerful/API")

const note = line => fs.appendFileSync(`${catchFolder}/catch.jsonl`, JSON.stringify(line) + "\n")

function brief(work) {
    // The number of a deleted work's author is 0.
    if (work.isMasked || Number(work.userId) === 0 || work.url.includes("/limit_")) return { work: Number(work.id), withheld: true }
    return {
        work: Number(work.id), title: work.title, user: Number(work.userId), author: work.userName, tags: work.tags,
        width: work.width, height: work.height,
    }
}

// As InitArtworkSeriesPage: pages till an empty one, and of the records those of the page's own works.
async function series(id) {
    const entries = []
    for (let page = 1; ; page++) {
        const { body } = await API.getSeriesData(id, page)
        if (body.page.series.length === 0) break
        for (const { workId, order } of body.page.series) {
            const record = body.thumbnails.illust.find(work => work.id === workId && !work.isAdContainer)
            if (record) entries.push({ ...brief(record), rank: order })
        }
    }
    note({ list: `series/${id}`, whole: true, entries })
}

// As InitArtworkPage: the records that came, and the numbers of the others.
async function related(id) {
    const { body } = await API.getRelatedData(id)
    const first = body.illusts.filter(work => !work.isAdContainer).map(brief)
    note({ list: `related/${id}`, whole: true, entries: [...first, ...body.nextIds.map(id => ({ work: Number(id) }))] })
}

// As InitUserPage and InitBookmarkPage: by offset, till nothing comes.
async function parts(list, ask) {
    const works = []
    for (;;) {
        const { body } = await ask(works.length)
        if (body.works.length === 0) break
        works.push(...body.works)
    }
    note({ list, whole: true, entries: works.map(brief) })
}

// As InitBookmarkNewPage: till nothing comes or the page before comes again, and never more than the service shows.
async function feed() {
    const entries = []
    let last
    for (let page = 1; page <= 35; page++) {
        const { illust } = (await API.getBookmarkNewWorkData("illust", page, "", false)).body.thumbnails
        if (illust.length === 0 || illust[0].id === last) break
        last = illust[0].id
        entries.push(...illust.filter(work => !work.isAdContainer).map(brief))
    }
    note({ list: "feed", whole: true, entries })
}

fs.mkdirSync(catchFolder, { recursive: true })
for (const what of wanted) {
    const [kind, first, tag] = what.split(":")
    if (kind === "series") await series(first)
    else if (kind === "related") await related(first)
    else if (kind === "feed") await feed()
    else if (kind === "author-tag") {
        await parts(`author-tags/${first}/${tag}`, offset => API.getUserWorksByTypeWithTag(first, "illustmanga", tag, offset))
    } else if (kind === "bookmarks") {
        const isHidden = first === "hide"
        const folder = tag ? `bookmark-tags/${tag}` : isHidden ? "bookmarks-private" : "bookmarks"
        await parts(folder, offset => API.getBookmarkData(session.split("_")[0], "illusts", tag, offset, isHidden))
    } else throw new Error(`powerful.mjs: ${what} is nothing that can be asked for`)
}
