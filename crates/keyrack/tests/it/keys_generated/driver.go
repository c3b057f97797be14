// Writes or reads one key of each kind with generated code and go-redis.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"shop"

	"gopkg.in/redis.v5"
)

const order = uint64(18446744073709551615)

var world struct{ User, Tenant, Path, Page, Note string }
var client *redis.Client

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func pointer[T any](value T) *T { return &value }

func write() {
	var names []string
	name := func(key interface{ Name() (string, error) }) string {
		names = append(names, must(key.Name()))
		return names[len(names)-1]
	}
	basket := name(shop.BasketKey{User: world.User})
	value := shop.Order{
		User: world.User, Total: "9.50", Count: 1000, Balance: -9223372036854775808, Weight: 0.1,
		At: 1763455469123, Seen: pointer(1763455469.25), Placed: "2026-11-18T08:44:29.5+01:00", Paid: true,
		Status: shop.OrderStatusSentBack, Phone: "+49 170", Sizes: []int64{1, -2, 3},
		Lines: shop.LuaArray[shop.OrderLines]{{Sku: world.Note, Count: 2}, {Sku: "b", Gift: pointer(true)}},
		Note:  &world.Note, Class: pointer("first"), Blob: []byte{0, 255}, Basket: &basket, Mixed: "none",
	}
	value.Place.X, value.Place.Y = 1.5, -3
	must(client.HMSet(name(shop.OrderKey{Order: order}), must(value.Fields())).Result())
	must(client.SAdd(basket, must(shop.BasketMemberCodec.Write(order))).Result())
	session := shop.SessionValue{User: world.Note, Roles: shop.LuaArray[string]{"a"}, Level: shop.SessionValueLevelHigh,
		Extra: map[string]*float64{"a": pointer(1.5), "b": nil}, Old: shop.LuaArray[any]{1}}
	sessionKey := name(shop.SessionKey{User: world.User, Order: 7})
	must(client.Set(sessionKey, must(shop.SessionValueCodec.Write(session)), 0).Result())
	recent := name(shop.RecentKey{Tenant: world.Tenant, Day: "2024-02-29", Kind: shop.KindN2ndHand})
	score := must(shop.RecentScoreCodec.Write(1763455469123))
	must(client.ZAdd(recent, redis.Z{Score: score, Member: must(shop.RecentMemberCodec.Write(world.User))}).Result())
	log := shop.LogKey{Uuid: "b355de80-54e5-11e3-8f96-0800200c9a66", Ulid: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Code: "ü🐝"}
	must(client.RPush(name(log), must(shop.LogItemCodec.Write(world.Note))).Result())
	flags := map[string]string{must(shop.FlagsFieldCodec.Write(world.User)): must(shop.FlagsValueCodec.Write(true))}
	must(client.HMSet(name(shop.FlagsKey{Tenant: world.Tenant}), flags).Result())
	must(client.Set(name(shop.FileKey{Path: world.Path}), must(shop.FileValueCodec.Write([]byte{254, 0})), 0).Result())
	must(client.Set(name(shop.PageKey{Page: world.Page}), must(shop.PageValueCodec.Write(world.Note)), 0).Result())
	must(client.PFAdd(name(shop.HostKey{Host: "a:b"}), "x").Result())
	must(client.SetBit(name(shop.MonthKey{Month: 12}), 7, 1).Result())
	event := must(shop.Events{Order: order, Kind: shop.EventsKindPlaced}.Fields())
	add := redis.NewCmd("XADD", name(shop.EventsKey{}), "*", "order", event["order"], "kind", event["kind"])
	if err := client.Process(add); err != nil {
		panic(err)
	}
	message := shop.PlacedMessage{Order: 5, Lines: shop.LuaArray[shop.PlacedMessageLines]{{Sku: "s", Count: 1}}}
	must(client.Set(name(shop.PageKey{Page: "message"}), must(shop.PlacedMessageCodec.Write(message)), 0).Result())
	for _, name := range names {
		must(client.Expire(name, shop.OrderKeyTTLSeconds*time.Second).Result())
	}
}

func read() map[string]string {
	out := map[string]string{}
	for _, name := range must(client.Keys("*").Result()) {
		if key, ok := shop.ParseOrderKey(name); ok {
			value := must(shop.OrderFromFields(must(client.HGetAll(name).Result())))
			if value.Seen == nil || value.UserAgent != nil {
				panic("optional fields")
			}
			var lines []string
			for _, line := range value.Lines {
				lines = append(lines, fmt.Sprintf("%s %d %t", line.Sku, line.Count, line.Gift != nil && *line.Gift))
			}
			fields := []string{
				value.User, value.Total, fmt.Sprint(value.Count), fmt.Sprint(value.Balance), fmt.Sprint(value.Weight),
				fmt.Sprint(value.At), fmt.Sprintf("%.2f", *value.Seen), value.Placed, fmt.Sprint(value.Paid), fmt.Sprint(value.Gift),
				string(value.Status), value.Phone, fmt.Sprintf("%v|%d", value.Place.X, value.Place.Y),
				strings.Trim(strings.ReplaceAll(fmt.Sprint(value.Sizes), " ", "|"), "[]"), strings.Join(lines, "|"),
				*value.Note, *value.Class, hex.EncodeToString(value.Blob), value.Next, *value.Basket, value.Mixed,
			}
			out["order"], out["fields"] = fmt.Sprint(key.Order), strings.Join(fields, "\n")
		} else if key, ok := shop.ParseBasketKey(name); ok {
			member := must(client.SMembers(name).Result())[0]
			out["basket"] = fmt.Sprintf("%s|%d", key.User, must(shop.BasketMemberCodec.Read(member)))
		} else if key, ok := shop.ParseSessionKey(name); ok {
			value := must(shop.SessionValueCodec.Read(must(client.Get(name).Result())))
			out["session"] = fmt.Sprintf("%s|%d|%s|%s|%s|%v|%t|%d", key.User, key.Order, value.User, value.Roles[0],
				value.Level, *value.Extra["a"], value.Extra["b"] == nil, len(value.Old))
		} else if key, ok := shop.ParseRecentKey(name); ok {
			found := must(client.ZRangeWithScores(name, 0, -1).Result())[0]
			member := must(shop.RecentMemberCodec.Read(found.Member.(string)))
			out["recent"] = fmt.Sprintf("%s|%s|%s|%s|%d", key.Tenant, key.Day, key.Kind, member, must(shop.RecentScoreCodec.Read(found.Score)))
		} else if key, ok := shop.ParseLogKey(name); ok {
			item := must(shop.LogItemCodec.Read(must(client.LIndex(name, 0).Result())))
			out["log"] = fmt.Sprintf("%s|%s|%s|%s", key.Uuid, key.Ulid, key.Code, item)
		} else if key, ok := shop.ParseFlagsKey(name); ok {
			for field, value := range must(client.HGetAll(name).Result()) {
				out["flags"] = fmt.Sprintf("%s|%s|%t", key.Tenant, must(shop.FlagsFieldCodec.Read(field)), must(shop.FlagsValueCodec.Read(value)))
			}
		} else if key, ok := shop.ParseFileKey(name); ok {
			value := must(shop.FileValueCodec.Read(must(client.Get(name).Result())))
			out["file"] = key.Path + "|" + hex.EncodeToString(value)
		} else if key, ok := shop.ParsePageKey(name); ok && key.Page == "message" {
			message := must(shop.PlacedMessageCodec.Read(must(client.Get(name).Result())))
			out["message"] = fmt.Sprintf("%d|%s|%t", message.Order, message.Lines[0].Sku, message.Note == nil)
		} else if ok {
			out["page"] = key.Page + "|" + must(shop.PageValueCodec.Read(must(client.Get(name).Result())))
		} else if key, ok := shop.ParseHostKey(name); ok {
			out["host"] = fmt.Sprintf("%s|%d", key.Host, must(client.PFCount(name).Result()))
		} else if key, ok := shop.ParseMonthKey(name); ok {
			out["month"] = fmt.Sprintf("%d|%d", key.Month, must(client.GetBit(name, 7).Result()))
		} else if _, ok := shop.ParseEventsKey(name); ok {
			get := redis.NewSliceCmd("XRANGE", name, "-", "+")
			if err := client.Process(get); err != nil {
				panic(err)
			}
			flat := get.Val()[0].([]interface{})[1].([]interface{})
			fields := map[string]string{}
			for i := 0; i < len(flat); i += 2 {
				fields[flat[i].(string)] = flat[i+1].(string)
			}
			event := must(shop.EventsFromFields(fields))
			out["events"] = fmt.Sprintf("%d|%s", event.Order, event.Kind)
		} else {
			panic(name)
		}
	}
	return out
}

func main() {
	if err := json.Unmarshal([]byte(os.Args[3]), &world); err != nil {
		panic(err)
	}
	client = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[2]})
	if os.Args[1] == "write" {
		write()
	} else {
		fmt.Println(string(must(json.Marshal(read()))))
	}
}
