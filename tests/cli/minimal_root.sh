# shellcheck shell=bash
# Sourced by package.sh: a minimal Debian root, as debootstrap's, made without a network of the packages that are installed here.

# minimal_root FOLDER [PACKAGE...]: the essential packages, PACKAGE... and what they depend on: their files (without texts), what
# dpkg knows of them, and the byte code that Python's packages make when they are installed.
minimal_root() {
  local folder=$1 names=() name code
  shift
  mapfile -t names < <(dpkg-query -W -f='${Essential} ${Package}\n' | sed -n 's/^yes //p')
  # Of alternatives it names those that are not here too.
  mapfile -t names < <(apt-cache depends --installed --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "${names[@]}" "$@" | grep '^[a-z0-9]' | sort -u)
  mapfile -t names < <(dpkg-query -W -f='${db:Status-Status} ${binary:Package}\n' "${names[@]}" 2>/dev/null | sed -n 's/^installed //p')
  mkdir -p "$folder"/usr/{bin,sbin,lib,lib64} "$folder"/{dev,proc,sys,tmp,root,run} "$folder"/var/lib/dpkg/{info,updates,triggers}
  dpkg-query -s "${names[@]}" >"$folder/var/lib/dpkg/status"
  for name in "${names[@]}"; do cp /var/lib/dpkg/info/"$name".list "$folder/var/lib/dpkg/info/"; done
  cat "$folder"/var/lib/dpkg/info/*.list | grep -vE '^/usr/share/(doc|man|info|locale|i18n|zoneinfo)/|^/\.$' | sort -u |
    while IFS= read -r name; do
      [[ ! -e $name ]] || printf '%s\n' "${name#/}"
      [[ $name == *.py ]] || continue
      code=${name##*/}
      for code in "${name%/*}/__pycache__/${code%.py}".*.pyc; do [[ ! -e $code ]] || printf '%s\n' "${code#/}"; done
    done >"$folder/tmp/files"
  tar -C / --no-recursion --files-from="$folder/tmp/files" -cf - | tar -C "$folder" -xf - || return 1
  for name in passwd group; do cp "$folder/usr/share/base-passwd/$name.master" "$folder/etc/$name"; done
}

# inside FOLDER COMMAND...: there, without a network and with nothing in the environment.
inside() {
  # shellcheck disable=SC2016
  unshare -mn bash -c 'mount --rbind /dev "$1/dev" && mount --rbind /proc "$1/proc" && folder=$1 && shift &&
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$0" "$folder" "$@"' "$(command -v chroot)" "$@"
}
