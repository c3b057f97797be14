// KeyError says why something cannot be written or read. It never holds the value itself, which may be secret.
type KeyError struct {
	// Place is the part or field.
	Place string
	// Expected is what it has to be.
	Expected string
}

func (e *KeyError) Error() string { return fmt.Sprintf("%q has to be %s", e.Place, e.Expected) }

func wrong(expected string) error { return &KeyError{Place: "value", Expected: expected} }

func placed(place string, err error) error {
	if found, ok := err.(*KeyError); ok {
		return &KeyError{Place: place, Expected: found.Expected}
	}
	return err
}

type state struct {
	end   bool
	edges [][3]int
}

type part struct {
	noun, expected  string
	fits            func(string) bool
	percent, colons bool
	without         string
	bytesMax        int
}

func (p *part) isValue(text string) bool {
	if len(text) == 0 || len(text) > p.bytesMax || !utf8.ValidString(text) {
		return false
	}
	return !strings.ContainsAny(text, p.without) && p.fits(text)
}

func (p *part) stands(b byte) bool {
	if b == ':' {
		return p.colons
	}
	return b > 0x20 && b < 0x7f && strings.IndexByte("%{}*?[]\\^", b) < 0
}

func (p *part) write(text string) (string, error) {
	if !p.isValue(text) {
		return "", &KeyError{Place: p.noun, Expected: p.expected}
	}
	if !p.percent {
		return text, nil
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if p.stands(text[i]) {
			out.WriteByte(text[i])
		} else {
			fmt.Fprintf(&out, "%%%02X", text[i])
		}
	}
	return out.String(), nil
}

func (p *part) read(coded string) (string, bool) {
	if !p.percent {
		return coded, p.isValue(coded)
	}
	var out []byte
	for i := 0; i < len(coded); i++ {
		b := coded[i]
		if b == '%' {
			if i+2 >= len(coded) || !upperHex.MatchString(coded[i+1:i+3]) {
				return "", false
			}
			n, _ := strconv.ParseUint(coded[i+1:i+3], 16, 8)
			b = byte(n)
			if p.stands(b) {
				return "", false
			}
			i += 2
		} else if !p.stands(b) {
			return "", false
		}
		out = append(out, b)
	}
	return string(out), p.isValue(string(out))
}

var (
	upperHex    = regexp.MustCompile(`^[0-9A-F]{2}$`)
	numberForm  = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	integerForm = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	floatForm   = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	decimalForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	uuidForm    = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	ulidForm    = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
	dateForm    = regexp.MustCompile(`^([0-9]{4})-([0-9]{2})-([0-9]{2})$`)
	timeForm    = regexp.MustCompile(`^[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)? *([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9]|[+-][0-9]{4})?$`)
)

func isAny(string) bool { return true }

func isNumber(min, max uint64) func(string) bool {
	return func(text string) bool {
		n, err := strconv.ParseUint(text, 10, 64)
		return err == nil && numberForm.MatchString(text) && n >= min && n <= max
	}
}

func isColons(fields int) func(string) bool {
	return func(text string) bool {
		found := strings.Split(text, ":")
		for _, field := range found {
			if field == "" {
				return false
			}
		}
		return len(found) >= fields
	}
}

func isWord(words ...string) func(string) bool {
	return func(text string) bool {
		for _, word := range words {
			if word == text {
				return true
			}
		}
		return false
	}
}

func isOther(words ...string) func(string) bool {
	return func(text string) bool { return !isWord(words...)(text) }
}

func isDate(text string) bool {
	found := dateForm.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	year, _ := strconv.Atoi(found[1])
	month, _ := strconv.Atoi(found[2])
	day, _ := strconv.Atoi(found[3])
	if month < 1 || month > 12 {
		return false
	}
	days := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		days = 29
	}
	return day >= 1 && day <= days
}

func isTime(text string) bool {
	return len(text) > 10 && isDate(text[:10]) && timeForm.MatchString(text[10:])
}

func isPattern(states []state) func(string) bool {
	return func(text string) bool {
		at := map[int]bool{0: true}
		for i := 0; i < len(text); i++ {
			next := map[int]bool{}
			for from := range at {
				for _, edge := range states[from].edges {
					if int(text[i]) >= edge[0] && int(text[i]) <= edge[1] {
						next[edge[2]] = true
					}
				}
			}
			at = next
		}
		for last := range at {
			if states[last].end {
				return true
			}
		}
		return false
	}
}

func isLike(forms ...string) func(string) bool {
	return func(text string) bool {
		is := []rune(text)
		for _, form := range forms {
			wanted := []rune(form)
			fits := len(is) == len(wanted)
			for i := 0; fits && i < len(is); i++ {
				switch wanted[i] {
				case '0':
					fits = is[i] >= '0' && is[i] <= '9'
				case '±':
					fits = is[i] == '+' || is[i] == '-'
				default:
					fits = is[i] == wanted[i]
				}
			}
			if fits {
				return true
			}
		}
		return false
	}
}

// piece is fixed text, or a place for a part.
type piece struct {
	text string
	part *part
}

func build(pieces []piece, parts ...string) (string, error) {
	var name strings.Builder
	for _, piece := range pieces {
		if piece.part == nil {
			name.WriteString(piece.text)
			continue
		}
		coded, err := piece.part.write(parts[0])
		if err != nil {
			return "", err
		}
		name.WriteString(coded)
		parts = parts[1:]
	}
	return name.String(), nil
}

func parse(pieces []piece, name string) ([]string, bool) {
	if len(pieces) == 0 {
		return nil, name == ""
	}
	first, rest := pieces[0], pieces[1:]
	if first.part == nil {
		if !strings.HasPrefix(name, first.text) {
			return nil, false
		}
		return parse(rest, name[len(first.text):])
	}
	end := 1
	if len(rest) == 0 && len(name) > 1 {
		end = len(name)
	}
	for ; end <= len(name); end++ {
		if len(rest) > 0 && !strings.HasPrefix(name[end:], rest[0].text) {
			continue
		}
		if text, ok := first.part.read(name[:end]); ok {
			if others, ok := parse(rest, name[end:]); ok {
				return append([]string{text}, others...), true
			}
		}
	}
	return nil, false
}

// Codec says how a value is written and read.
type Codec[T any] struct {
	place string
	write func(T) (string, error)
	read  func(string) (T, error)
}

// Write gives the text for Redis.
func (c Codec[T]) Write(value T) (string, error) {
	raw, err := c.write(value)
	return raw, placed(c.place, err)
}

// Read gives the value from Redis.
func (c Codec[T]) Read(raw string) (T, error) {
	value, err := c.read(raw)
	return value, placed(c.place, err)
}

func (c Codec[T]) at(place string) Codec[T] {
	c.place = place
	return c
}

func (c Codec[T]) canRead(raw string) bool {
	_, err := c.read(raw)
	return err == nil
}

// converted is a codec of checked texts that are something else in the program.
func converted[T any](fits func(string) bool, expected string, write func(T) string, read func(string) (T, error)) Codec[T] {
	check := func(text string) error {
		if !utf8.ValidString(text) || !fits(text) {
			return wrong(expected)
		}
		return nil
	}
	return Codec[T]{
		place: "value",
		write: func(value T) (string, error) {
			text := write(value)
			return text, check(text)
		},
		read: func(raw string) (T, error) {
			var none T
			if err := check(raw); err != nil {
				return none, err
			}
			value, err := read(raw)
			if err != nil {
				return none, wrong(expected)
			}
			return value, nil
		},
	}
}

func checked[T ~string](fits func(string) bool, expected string) Codec[T] {
	return converted(fits, expected, func(value T) string { return string(value) }, func(raw string) (T, error) { return T(raw), nil })
}

func textCodec() Codec[string] { return checked[string](isAny, "text") }
func decimalCodec() Codec[string] {
	return checked[string](decimalForm.MatchString, "a decimal number")
}
func isoTimeCodec() Codec[string] { return checked[string](isTime, "a time like 2026-11-18T08:44:29Z") }
func likeCodec(forms ...string) Codec[string] {
	return checked[string](isLike(forms...), "like "+strings.Join(forms, " or "))
}
func wordsCodec[T ~string](words ...string) Codec[T] {
	return checked[T](isWord(words...), "one of "+strings.Join(words, ", "))
}
func idCodec(p *part) Codec[string] { return checked[string](p.isValue, p.expected) }
func idNumberCodec(p *part) Codec[uint64] {
	return converted(p.isValue, p.expected,
		func(value uint64) string { return strconv.FormatUint(value, 10) },
		func(raw string) (uint64, error) { return strconv.ParseUint(raw, 10, 64) })
}
func keyNameCodec[K any](parse func(string) (K, bool), noun string) Codec[string] {
	return checked[string](func(name string) bool { _, ok := parse(name); return ok }, "the name of a "+noun)
}

func bytesCodec() Codec[[]byte] {
	return Codec[[]byte]{
		place: "value",
		write: func(value []byte) (string, error) { return string(value), nil },
		read:  func(raw string) ([]byte, error) { return []byte(raw), nil },
	}
}

func intCodec(min, max int64) Codec[int64] {
	fits := func(text string) bool {
		n, err := strconv.ParseInt(text, 10, 64)
		return err == nil && integerForm.MatchString(text) && n >= min && n <= max
	}
	return converted(fits, fmt.Sprintf("a whole number from %d to %d", min, max),
		func(value int64) string { return strconv.FormatInt(value, 10) },
		func(raw string) (int64, error) { return strconv.ParseInt(raw, 10, 64) })
}

func uintCodec(min, max uint64) Codec[uint64] {
	return converted(isNumber(min, max), fmt.Sprintf("a whole number from %d to %d", min, max),
		func(value uint64) string { return strconv.FormatUint(value, 10) },
		func(raw string) (uint64, error) { return strconv.ParseUint(raw, 10, 64) })
}

// wideCodec is for whole numbers of more than 64 bits, which stay texts.
func wideCodec(min, max string) Codec[string] {
	low, _ := new(big.Int).SetString(min, 10)
	high, _ := new(big.Int).SetString(max, 10)
	fits := func(text string) bool {
		n, ok := new(big.Int).SetString(text, 10)
		return ok && integerForm.MatchString(text) && n.Cmp(low) >= 0 && n.Cmp(high) <= 0
	}
	return checked[string](fits, "a whole number from "+min+" to "+max)
}

func floatText(value float64) string {
	if math.Abs(value) < 1e15 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

func floatCodec(min, max float64, expected string) Codec[float64] {
	fits := func(text string) bool {
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && floatForm.MatchString(text) && n >= min && n <= max
	}
	return converted(fits, expected, floatText, func(raw string) (float64, error) { return strconv.ParseFloat(raw, 64) })
}

func numberCodec() Codec[float64] {
	return floatCodec(-math.MaxFloat64, math.MaxFloat64, "a finite number")
}
func secondsCodec() Codec[float64] {
	return floatCodec(0, 99999999999, "a Unix time in seconds")
}

func boolCodec(no, yes string) Codec[bool] {
	write := func(value bool) string {
		if value {
			return yes
		}
		return no
	}
	return converted(isWord(no, yes), fmt.Sprintf("%q or %q", no, yes), write, func(raw string) (bool, error) { return raw == yes, nil })
}

func listCodec[T any](item Codec[T], count int) Codec[[]T] {
	expected := fmt.Sprintf("%d values with commas between them", count)
	return Codec[[]T]{
		place: "value",
		write: func(values []T) (string, error) {
			var texts []string
			for _, value := range values {
				text, err := item.write(value)
				if err != nil {
					return "", err
				}
				texts = append(texts, text)
			}
			if len(texts) != count {
				return "", wrong(expected)
			}
			return strings.Join(texts, ","), nil
		},
		read: func(raw string) ([]T, error) {
			var values []T
			for _, text := range strings.Split(raw, ",") {
				value, err := item.read(text)
				if err != nil {
					return nil, err
				}
				values = append(values, value)
			}
			if len(values) != count {
				return nil, wrong(expected)
			}
			return values, nil
		},
	}
}

// split takes a text with commas apart, for tuples.
func split(raw string, count int) ([]string, error) {
	texts := strings.Split(raw, ",")
	if len(texts) != count {
		return nil, wrong(fmt.Sprintf("%d values with commas between them", count))
	}
	return texts, nil
}

func anyOfCodec(forms ...func(string) bool) Codec[string] {
	return checked[string](func(text string) bool {
		for _, fits := range forms {
			if fits(text) {
				return true
			}
		}
		return false
	}, "of another form")
}

// orEmptyCodec is for texts that may be empty; values of other types stay texts then.
func orEmptyCodec(fits func(string) bool, expected string) Codec[string] {
	return checked[string](func(text string) bool { return text == "" || fits(text) }, expected)
}

// LuaArray is an array for which Lua writes {} when it is empty.
type LuaArray[T any] []T

// UnmarshalJSON reads an array, or {}.
func (a *LuaArray[T]) UnmarshalJSON(raw []byte) error {
	if bytes.Equal(bytes.Join(bytes.Fields(raw), nil), []byte("{}")) {
		*a = LuaArray[T]{}
		return nil
	}
	return json.Unmarshal(raw, (*[]T)(a))
}

// MarshalJSON writes an array.
func (a LuaArray[T]) MarshalJSON() ([]byte, error) {
	if a == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(a))
}

// shaped tells whether a value has the declared shape.
func shaped(schema, value any) bool {
	if word, ok := schema.(string); ok {
		number, isNumber := value.(json.Number)
		switch word {
		case "boolean":
			_, ok = value.(bool)
		case "string":
			_, ok = value.(string)
		case "number":
			ok = isNumber
		case "integer":
			ok = isNumber && integerForm.MatchString(number.String())
		}
		return ok
	}
	shape := schema.(map[string]any)
	if words, ok := shape["words"]; ok {
		for _, word := range words.([]any) {
			if word == value {
				return true
			}
		}
		return false
	}
	if inner, ok := shape["nullable"]; ok {
		return value == nil || shaped(inner, value)
	}
	for _, name := range []string{"array", "luaArray"} {
		if item, ok := shape[name]; ok {
			object, isObject := value.(map[string]any)
			if name == "luaArray" && isObject && len(object) == 0 {
				return true
			}
			items, isArray := value.([]any)
			for _, inner := range items {
				isArray = isArray && shaped(item, inner)
			}
			return isArray
		}
	}
	object, ok := value.(map[string]any)
	if inner, isMap := shape["map"]; isMap {
		for _, value := range object {
			ok = ok && shaped(inner, value)
		}
		return ok
	}
	optional := map[any]bool{}
	for _, name := range shape["optional"].([]any) {
		optional[name] = true
	}
	for name, member := range shape["object"].(map[string]any) {
		inner, has := object[name]
		ok = ok && ((!has && optional[name]) || (has && shaped(member, inner)))
	}
	return ok
}

func jsonCodec[T any](schema string) Codec[T] {
	var shape any
	if err := json.Unmarshal([]byte(schema), &shape); err != nil {
		panic(err)
	}
	check := func(raw []byte) error {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil || decoder.More() {
			return wrong("JSON")
		}
		if !shaped(shape, value) {
			return wrong("JSON of the declared shape")
		}
		return nil
	}
	return Codec[T]{
		place: "value",
		write: func(value T) (string, error) {
			var out bytes.Buffer
			encoder := json.NewEncoder(&out)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(value); err != nil {
				return "", wrong("JSON")
			}
			raw := bytes.TrimRight(out.Bytes(), "\n")
			return string(raw), check(raw)
		},
		read: func(raw string) (T, error) {
			var value T
			if err := check([]byte(raw)); err != nil {
				return value, err
			}
			if err := json.Unmarshal([]byte(raw), &value); err != nil {
				return value, wrong("JSON of the declared shape")
			}
			return value, nil
		},
	}
}

// ScoreCodec says how a score is written and read: scores are numbers in most clients.
type ScoreCodec[T any] struct{ codec Codec[T] }

// Write gives the score for Redis.
func (s ScoreCodec[T]) Write(value T) (float64, error) {
	text, err := s.codec.Write(value)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

// Read gives the value of a score from Redis.
func (s ScoreCodec[T]) Read(score float64) (T, error) {
	return s.codec.Read(strconv.FormatFloat(score, 'f', -1, 64))
}

func put[T any](fields map[string]string, name string, codec Codec[T], value T) error {
	raw, err := codec.at(name).Write(value)
	if err == nil {
		fields[name] = raw
	}
	return err
}

func putSome[T any](fields map[string]string, name string, codec Codec[T], value *T) error {
	if value == nil {
		return nil
	}
	return put(fields, name, codec, *value)
}

func need[T any](fields map[string]string, name string, codec Codec[T], to *T) error {
	raw, ok := fields[name]
	if !ok {
		return &KeyError{Place: name, Expected: "there"}
	}
	value, err := codec.at(name).Read(raw)
	*to = value
	return err
}

func find[T any](fields map[string]string, name string, codec Codec[T], to **T) error {
	if _, ok := fields[name]; !ok {
		return nil
	}
	*to = new(T)
	return need(fields, name, codec, *to)
}

