// Asks with the package of github.com/NateScarlet/pixiv and notes the answers in a catch (see visitor.py).
//
// Built by `run` inside a checkout of that package. usage: natescarlet CATCH PICTURES WHAT..., where WHAT is
// ranking:YYYY-MM-DD:PAGE, search:WORDS:PAGES, search2:WORD:PAGES or work:ID. The package knows neither lists of authors'
// works nor the frames of animations. Its newer search escapes what is not ASCII twice, so words of Japanese go to the older one.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/NateScarlet/pixiv/pkg/artwork"
	"github.com/NateScarlet/pixiv/pkg/client"
)

var (
	catch    string
	pictures int
	notes    *os.File
	ctx      = client.With(context.Background(), client.Default)
)

type object = map[string]any

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "natescarlet:", err)
		os.Exit(1)
	}
}

func note(line object) { check(json.NewEncoder(notes).Encode(line)) }

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	check(err)
	return value
}

// The package leaves downloading to its user; its client does it. False for an original that answers 500.
func download(url, kind, work string, page int) bool {
	request, err := http.NewRequest("GET", url, nil)
	check(err)
	request.Header.Set("Referer", "https://www.pixiv.net/")
	answer, err := client.Default.Do(request)
	check(err)
	defer answer.Body.Close()
	if answer.StatusCode == 500 && kind == "original" {
		return false
	}
	if answer.StatusCode != 200 {
		check(fmt.Errorf("%s answers %s", url, answer.Status))
	}
	bytes, err := io.ReadAll(answer.Body)
	check(err)
	name := kind + "-" + path.Base(url)
	check(os.WriteFile(filepath.Join(catch, name), bytes, 0o644))
	note(object{"picture": name, "work": number(work), "page": page, "as": kind})
	return true
}

func ranking(day string, page int) {
	date, err := time.Parse("2006-01-02", day)
	check(err)
	answer, err := artwork.FetchRank(ctx, artwork.DailyRank, artwork.FetchRankWithDate(date), artwork.FetchRankWithPage(page))
	check(err)
	entries := []object{}
	var fetched []string
	for item := range answer.Items() {
		if strings.Contains(item.MaxWidth1200URL(), "/limit_") {
			entries = append(entries, object{"work": number(item.ID()), "rank": item.Position(), "withheld": true})
			continue
		}
		tags := []string{}
		for tag := range item.Tags() {
			tags = append(tags, tag)
		}
		entries = append(entries, object{
			"work": number(item.ID()), "rank": item.Position(), "title": item.Title(), "user": number(item.AuthorID()),
			"author": item.AuthorName(), "tags": tags, "width": item.Width(), "height": item.Height(),
			"time": item.UploadedAt().Unix(),
		})
		if len(fetched) < pictures {
			fetched = append(fetched, item.ID())
			// In recorded answers, too, this is the address of the thumbnail.
			download(item.MaxWidth1200URL(), "small", item.ID(), 0)
		}
	}
	note(object{"list": "ranking/daily/" + day, "entries": entries})
	for _, work := range fetched {
		pages(work, true)
	}
}

func search(words string, last int) {
	entries := []object{}
	for page := 1; page <= last; page++ {
		answer, err := artwork.Search(ctx, words, artwork.SearchOptionPage(page), artwork.SearchOptionMode(artwork.PartialTagSearch))
		check(err)
		for _, item := range answer.Artworks() {
			entries = append(entries, found(item.ID, item.Title, item.Author.ID, item.Author.Name, item.Tags))
		}
	}
	searched(words, entries)
}

func search2(word string, last int) {
	entries := []object{}
	for page := 1; page <= last; page++ {
		answer, err := artwork.SearchV2(ctx, word, artwork.SearchWithPage(page), artwork.SearchWithMode(artwork.PartialTagSearch))
		check(err)
		for item := range answer.Items() {
			tags := []string{}
			for tag := range item.Tags() {
				tags = append(tags, tag)
			}
			entries = append(entries, found(item.ID(), item.Title(), item.AuthorID(), item.AuthorName(), tags))
		}
	}
	searched(word, entries)
}

func found(work, title, user, author string, tags []string) object {
	return object{"work": number(work), "title": title, "user": number(user), "author": author, "tags": tags}
}

func searched(words string, entries []object) {
	note(object{"list": "search/" + words, "entries": entries})
	for _, entry := range entries[:min(pictures, len(entries))] {
		pages(strconv.FormatInt(entry["work"].(int64), 10), true)
	}
}

func pages(work string, regular bool) {
	answer, err := artwork.FetchPages(ctx, work)
	check(err)
	count := 0
	for page := range answer.Pages() {
		download(page.OriginalURL(), "original", work, count)
		if regular && count == 0 {
			download(page.MaxWidth1200URL(), "regular", work, count)
		}
		count++
	}
}

func work(id string) {
	answer, err := artwork.Fetch(ctx, id)
	check(err)
	tags := []string{}
	for tag := range answer.Tags() {
		tags = append(tags, tag)
	}
	kinds := map[artwork.ContentType]string{artwork.Illust: "illust", artwork.Manga: "manga", artwork.Animation: "ugoira"}
	note(object{
		"record": number(id), "title": answer.Title(), "tags": tags, "type": kinds[answer.Type()],
		"author": object{"id": number(answer.AuthorID()), "name": answer.AuthorName()},
		"width":  answer.Width(), "height": answer.Height(), "page_count": answer.PageCount(), "views": answer.ViewCount(),
		"likes": answer.LikeCount(), "bookmarks": answer.BookmarkCount(), "comments": answer.CommentCount(),
		"created": answer.CreatedAt().UTC().Format(time.RFC3339), "uploaded": answer.UploadedAt().UTC().Format(time.RFC3339),
		"ai": answer.CreationMethod() == artwork.AIGenerated, "url": answer.URL().String(),
	})
	pages(id, false)
}

func main() {
	catch = os.Args[1]
	pictures = int(number(os.Args[2]))
	check(os.MkdirAll(catch, 0o755))
	var err error
	notes, err = os.Create(filepath.Join(catch, "catch.jsonl"))
	check(err)
	for _, what := range os.Args[3:] {
		parts := strings.Split(what, ":")
		switch parts[0] {
		case "ranking":
			ranking(parts[1], int(number(parts[2])))
		case "search":
			search(parts[1], int(number(parts[2])))
		case "search2":
			search2(parts[1], int(number(parts[2])))
		case "work":
			work(parts[1])
		default:
			check(fmt.Errorf("%s is nothing that can be asked for", what))
		}
	}
}
