#!/bin/bash
# git: many short processes, packs written by threads, and servers on pipes.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require git

# Every commit gets the same name on both runs: same author, same second.
cat >"$work/start" <<'E'
set -e
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_CONFIG_NOSYSTEM=1
git config --global user.email a@b.example; git config --global user.name n
git config --global init.defaultBranch main; git config --global pack.threads 3
git config --global gc.auto 0; git config --global advice.detachedHead false; git config --global protocol.file.allow always
git init -q r; cd r
for i in $(seq 12); do
    mkdir -p d$((i % 4)); seq $((i * 900)) >d$((i % 4))/f$i; seq $i $((i * 3000)) >big; git add .; git commit -qm "commit $i"
done
E

same -t 120 "git commits, packs and checks a repository" bash -c '. "$1"
    git gc -q --aggressive --prune=now; git fsck --full --no-progress; git count-objects -v | grep -v size
    git repack -qadf --depth=20 --window=20; git verify-pack .git/objects/pack/*.idx; git rev-parse HEAD; git log --oneline --stat | md5sum
    git rev-list --objects --all | md5sum; git blame big | md5sum; git grep --threads=4 -c 777 | sort; git ls-files -s | md5sum' - "$work/start"
same "git clones, fetches and pushes" bash -c '. "$1"; cd ..
    git clone -q r a; git clone -q --bare file://$PWD/r b; git clone -q --depth 2 file://$PWD/r c; git -C c log --oneline
    cd a; git checkout -q -b topic; echo x >>big; git commit -qam topic; git remote add b ../b; git push -q b topic 2>&1; git -C ../b log -1 --format=%H topic
    cd ../r; git fetch -q ../b topic 2>&1; git merge -q FETCH_HEAD; git rev-parse HEAD; git fsck --no-progress; git -C ../b fsck --no-progress' - "$work/start"
same "git branches, merges, rebases and stashes" bash -c '. "$1"
    git checkout -q -b x HEAD~3; echo x >new; git add new; git commit -qm x; git rebase -q main; git rev-parse HEAD
    git checkout -q main; git merge -q --no-ff -m merged x; git rev-parse HEAD; echo dirty >>big; git stash -q; git stash list; git stash pop -q; git diff --stat
    git checkout -q .; git cherry-pick HEAD~2 2>&1 | head -2; git cherry-pick --abort 2>/dev/null; git reset -q --hard; git bisect start -q HEAD HEAD~9 >/dev/null; git bisect run sh -c "! test -e d1/f9" | tail -3 | head -1; git bisect reset 2>&1 | tail -1; git status --short; git describe --always' - "$work/start"
same "git exports, imports, bundles and archives" bash -c '. "$1"
    git fast-export --all >../e; git init -q ../i; git -C ../i fast-import --quiet <../e; git -C ../i rev-parse main; git bundle create -q ../u --all; git bundle verify -q ../u && git clone -q ../u ../v -b main && git -C ../v rev-parse HEAD
    git archive --format=tar HEAD | md5sum; git archive --format=zip HEAD | wc -c; git diff HEAD~5 | md5sum; git format-patch -q -o ../p HEAD~3; cat ../p/* | grep -c ^diff; git checkout -q HEAD~3; git am -q ../p/* && git rev-parse HEAD^{tree}' - "$work/start"
same -x 128 -q "git names what is wrong" git -C / log
finish
