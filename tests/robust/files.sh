# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The files that cases.sh uses, made in the working directory from those of the tree $D and the program $R.
M=$D/workloads/models/llama2-7b.yaml
G=$D/hwdb/gpus/h100-sxm5-80gb.yaml
C=$D/tests/fixtures/hf

repeat() { head -c "$2" /dev/zero | tr '\0' "$1"; }

# YAML: what is no model, in many ways
cp "$M" m.yaml
: >empty.yaml
gzip -c m.yaml >m.yaml.gz
head -c 4000 "$R" >bin.yaml
iconv -t UTF-16LE m.yaml >le.yaml
iconv -t UTF-16 m.yaml >u16.yaml
{ printf '\357\273\277' && cat m.yaml; } >bom.yaml
sed 's/$/\r/' m.yaml >crlf.yaml
head -c 100 m.yaml >trunc.yaml
{ cat m.yaml && printf '\0\0'; } >nul.yaml
{ cat m.yaml && printf '\377\376: 1\n'; } >utf.yaml
{ cat m.yaml && echo --- && cat m.yaml; } >two.yaml
{ cat m.yaml && echo 'layers: 3'; } >dup.yaml
{ printf 'a: ' && repeat '[' 100000 && repeat ']' 100000; } >deep.yaml
awk 'BEGIN { printf "{"; for (i = 0; i < 100000; i++) printf "%sk%d: 1", i ? "," : "", i; printf "}" }' >many.yaml
repeat '#' 9000000 >big.yaml
{
	echo 'a: &a [x,x,x,x,x,x,x,x,x]'
	before=a
	for c in b c d e f g h i j k; do
		echo "$c: &$c [*$before,*$before,*$before,*$before,*$before,*$before,*$before,*$before,*$before]"
		before=$c
	done
} >bomb.yaml
sed 's/^name:.*/name: "\\e[31mRED\\e]0;pwn\\a"/' m.yaml >esc.yaml
sed 's/^name:.*/name: "%s%s%n%n%x"/' m.yaml >fmt.yaml
while read -r file layers; do
	sed "s/layers: 32/layers: $layers/" m.yaml >"$file.yaml"
done <<'END'
y0 0
yn -3
yh 1e300
ynan .nan
yx 0x20
yu 3_2
yg 32GB
yuni ٣٢
END
sed 's/^sms: .*/sms: -1/' "$G" >gneg.yaml
sed 's/^sms: .*/sms: 0/' "$G" >gzero.yaml
sed 's/bandwidth: \[*[0-9.]*TB.s/bandwidth: 0TB\/s/' "$G" >gbw.yaml
printf 'format: 1\nname: &x [1, *x]\n' >cycle.yaml
printf 'format: 1\n\tname: x\n' >tab.yaml

# config.json: one key changed
cp "$C/llama.json" c.json
repeat '[' 100000 >wide.json
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "{\"a\":"; printf "1"; for (i = 0; i < 5000; i++) printf "}" }' >deep.json
changed() { sed "s|\"$2\": [^,]*|\"$2\": $3|" c.json >"$1.json"; }
changed l0 num_hidden_layers 0
changed lneg num_hidden_layers -3
changed lfrac num_hidden_layers 2.5
changed lhuge num_hidden_layers 1e300
changed lstr num_hidden_layers '"7"'
changed h7 num_attention_heads 7
changed kv3 num_key_value_heads 3
changed vneg vocab_size -1
changed mt model_type '"../../x"'
changed mtlist model_type '[]'
changed act hidden_act '"%s%n"'
changed esc model_type '"\\u001b[31mx"'
sed '/"hidden_size"/d' c.json >nohid.json
sed '1s/{/{"quantization_config": "abc",/' c.json >q.json
sed '1s/{/{"quantization_config": {"quant_method": "gptq", "bits": -4, "group_size": 0},/' c.json >qbits.json
sed 's/"expert_dtype": "[^"]*"/"expert_dtype": "abc"/' "$C/deepseek_v4.json" >expert_dtype.json
sed 's/"qk_norm_type": "[^"]*"/"qk_norm_type": "abc"/' "$C/minimax_m2.json" >qk_norm_type.json
sed 's/"indexer_types": \["full", "full", "shared"/"indexer_types": ["full", "full", "abc"/' "$C/glm_moe_dsa.json" >indexer.json
for f in expert_dtype qk_norm_type indexer; do
	grep -q '"abc"' $f.json || exit 3
done

# tables of measurements
H=gpu_id,backend,dtype,m,n,k,time_us
row=h100-sxm5-80gb,vllm,bf16,8,4096,4096
csv() { printf '%s\n' "$2" "${@:3}" >"$1"; }
{ echo $H && printf 'h100-sxm5-80gb,vllm,bf16,8,4096,' && repeat 4 300000 && echo ,12; } >longline.csv
awk 'BEGIN { for (l = 0; l < 2; l++) { for (i = 0; i < 5000; i++) printf "%s%s", i ? "," : "", l ? 1 : "c" i; print "" } }' >wide.csv
csv neg.csv $H $row,-4
csv nan.csv $H $row,nan
csv inf.csv $H $row,inf
csv hex.csv $H $row,0x10
csv huge.csv $H $row,1e400
csv thou.csv $H "$row,\"1,200\""
csv nocol.csv gpu_id,backend,dtype,m,n,time_us h100-sxm5-80gb,vllm,bf16,8,4096,12
csv few.csv $H h100-sxm5-80gb,vllm
csv more.csv $H $row,12,99,98
csv quote.csv $H "\"$row,12"
csv head.csv $H
csv zero.csv $H h100-sxm5-80gb,vllm,bf16,0,4096,4096,12
csv frac.csv $H h100-sxm5-80gb,vllm,bf16,8.5,4096,4096,12
csv ugpu.csv $H rtx9999,vllm,bf16,8,4096,4096,12
csv dupcol.csv $H,m $row,12,9
csv twice.csv gpu_id,gpu_id,m,n,k,time_us a,b,1,1,1,1
csv ok.csv $H $row,12
printf '%s\n%s,1\0002\n' $H $row >nulcsv.csv

# traces, points
csv tr.csv arrival,input,output 0,100,10 1,100,10
csv trneg.csv arrival,input,output 0,-100,10
csv tr0.csv arrival,input,output 0,0,10
csv trnan.csv arrival,input,output nan,100,10
csv trcol.csv arrival,input 0,100
csv trhuge.csv arrival,input,output 0,1e300,10
csv trfrac.csv arrival,input,output 0,100.5,10
printf '{"arrival":0,"input":1' >trunc.jsonl
csv pts.txt '1 2' '3 4'
csv word.txt 1 x 3
csv ptnan.csv 0,1 1,nan
csv samex.csv 1,1 1,2
csv expo.csv step,factor,cumulative,time,cost "a,1.4,0e-2147483648,607ms,\$35700"

# what is no file
mkfifo ff
mkdir dir dir.yaml home xdg
ln -s loop loop
echo OLD >old
